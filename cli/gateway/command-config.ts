// Loads the router's configuration for a command, with the addresses of a running `npm start` as fallback.

import { join, resolve } from 'node:path';
import { loadConfig } from '#lib/config/load.ts';
import { readRunningStack, type RunningStack } from '#lib/config/running-stack.ts';
import type { Config } from '#lib/config/schema.ts';
import { configFolderOf, type FolderOptions } from './gateway-folder.ts';
import type { Host } from '../host.ts';

/** A configuration key whose value can come from a running stack. */
export type StackKey = keyof ReturnType<typeof valuesOf>;

function valuesOf(stack: RunningStack) {
  return {
    'conductor.url': [stack.engine],
    'conductor.databaseURL': stack.engineDatabase,
    'redis.url': stack.redis,
    'records.keyPrefix': stack.recordsKeyPrefix,
    'conductor.apiURL': `${stack.router}/conductor/api`,
    'oauth.issuer': stack.identityProvider,
    'oauth.audience': stack.audience,
  };
}

/**
 * Keys whose values are valid only with an address, each with the keys that can hold that address. The running stack's
 * value of such a key is used only if that address is not configured. If there are several address keys, the one that
 * the command needs decides.
 */
const belongsTo: Partial<Record<StackKey, readonly StackKey[]>> = {
  'conductor.databaseURL': ['conductor.url'],
  'redis.url': ['conductor.url', 'conductor.apiURL'],
  'records.keyPrefix': ['conductor.url', 'conductor.apiURL'],
  'oauth.audience': ['oauth.issuer'],
};

/** Writes one line per warning of the configuration. */
export function writeWarnings(stderr: Host['stderr'], warnings: readonly string[]): void {
  for (const warning of warnings) stderr.write(`warning: ${warning}\n`);
}

/**
 * Loads the configuration. Writes the warnings of the configuration to stderr, and a line when addresses are taken from
 * a running stack.
 * @param keys keys that this run needs and that no option sets
 * @param folder the gateway's folder
 * @throws ConfigError when the configuration is not valid, CommandError when there is no such folder
 */
export async function loadCommandConfig(
  { env, stderr }: Pick<Host, 'env' | 'stderr'>,
  keys: readonly StackKey[],
  folder: FolderOptions,
): Promise<Config> {
  const rootDir = configFolderOf(folder);
  const { config, origins, warnings } = await loadConfig({ env, rootDir });
  writeWarnings(stderr, warnings);
  const isSet = (key: StackKey) => origins[key] !== undefined;
  const addressOf = (key: StackKey, addresses = belongsTo[key] ?? []) =>
    addresses.find((address) => keys.includes(address)) ?? addresses[0] ?? key;
  const missing = keys.filter((key) => !isSet(key) && !isSet(addressOf(key)));
  if (missing.length === 0) return config;
  const isDefault = origins['state.dir'] === undefined;
  const stack = readRunningStack(isDefault ? join(rootDir, config['state.dir']) : resolve(config['state.dir']));
  if (stack === undefined) return config;
  const values = valuesOf(stack);
  const found = missing.filter((key) => values[key] !== undefined);
  if (found.length === 0) return config;
  stderr.write(`Using the stack started at ${stack.startedAt} (router ${stack.router})\n`);
  return { ...config, ...Object.fromEntries(found.map((key) => [key, values[key]])) };
}
