// The configuration in force, as one object for whoever outlives it.

import type { Config } from '#lib/config/schema.ts';

export interface ActiveConfig {
  /** Reads the configuration in force at the moment of the reading. */
  readonly config: Config;
  set(config: Config): void;
}

export function createActiveConfig(first: Config): ActiveConfig {
  let inForce = first;
  return {
    config: new Proxy({} as Config, { get: (_target, key) => Reflect.get(inForce, key) as unknown }),
    set(config) {
      inForce = config;
    },
  };
}
