// Removes Redis and the engine database from a command's configuration when the command calls an engine that they do not
// belong to.

import type { Config } from '#lib/config/schema.ts';
import type { StackKey } from '../gateway/command-config.ts';
import type { Host } from '../host.ts';

/** The engine that a command calls, directly or through the router. */
export interface CalledEngine {
  readonly addresses: readonly string[];
  readonly configured: {
    readonly what: 'engine' | 'router';
    /** Configuration key that sets the addresses. */
    readonly key: keyof Config;
    readonly addresses: readonly string[];
  };
  /** Configuration keys that the command uses. */
  readonly keys: readonly StackKey[];
}

const storeKeys = ['redis.url', 'conductor.databaseURL'] as const;

/**
 * Returns the configuration, without Redis and the database if the command calls an engine other than the configured
 * one. With these stores, which belong to the configured engine, the command would delete the data of executions that
 * only that engine has. Writes a line to stderr when the command would have used these stores.
 */
export function withOwnStores(config: Config, called: CalledEngine, stderr: Host['stderr']): Config {
  const { addresses, configured, keys } = called;
  const { what, key } = configured;
  if (addresses.every((address) => configured.addresses.includes(address))) return config;
  const unused = storeKeys.filter((store) => keys.includes(store) && config[store] !== undefined);
  if (unused.length > 0) {
    stderr.write(
      `${unused.join(', ')} not used: configured for the ${what} at ${key} (${configured.addresses.join(',')}), but this command calls ${addresses.join(',')}\n`,
    );
  }
  const { 'redis.url': _redis, 'conductor.databaseURL': _database, ...rest } = config;
  return rest as Config;
}
