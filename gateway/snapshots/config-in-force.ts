// The configuration in force, as one object for whoever outlives it.

import type { Config } from '#lib/config/schema.ts';

export interface ConfigInForce {
  /** Reads the configuration in force at the moment of the reading. */
  readonly config: Config;
  set(config: Config): void;
}

export function createConfigInForce(first: Config): ConfigInForce {
  let inForce = first;
  return {
    config: new Proxy({} as Config, { get: (_target, key) => Reflect.get(inForce, key) as unknown }),
    set(config) {
      inForce = config;
    },
  };
}
