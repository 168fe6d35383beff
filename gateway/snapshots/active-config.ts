// A live view of the active configuration, for components that outlive a reload.

import type { Config } from '#lib/config/schema.ts';

/** The active configuration, replaced by each reload. */
export interface ActiveConfig {
  /** Returns the active value on each access to a key. Do not cache values across a reload. */
  readonly config: Config;
  /** Replaces the active configuration. */
  set(config: Config): void;
}

/** Creates the live view. @param first the configuration that is active until the first `set` */
export function createActiveConfig(first: Config): ActiveConfig {
  let active = first;
  return {
    config: new Proxy({} as Config, {
      get: (_target, key) => Reflect.get(active, key) as unknown,
      has: (_target, key) => Reflect.has(active, key),
      ownKeys: () => Reflect.ownKeys(active),
      // The active object may be frozen, but a proxy must not report a non-configurable property that its target lacks.
      getOwnPropertyDescriptor(_target, key) {
        const descriptor = Reflect.getOwnPropertyDescriptor(active, key);
        return descriptor && { ...descriptor, configurable: true, writable: true };
      },
    }),
    set(config) {
      active = config;
    },
  };
}
