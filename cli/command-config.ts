// The configuration of a command: as the router reads it, with the addresses of a running `npm start` where nothing is set.

import { join, resolve } from 'node:path';
import { loadConfig } from '#lib/config/load.ts';
import { readRunningStack, type RunningStack } from '#lib/config/running-stack.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Host } from './host.ts';
import { rootDir } from './root-dir.ts';

/** A key whose value can come from a running stack. */
export type StackKey = keyof ReturnType<typeof valuesOf>;

function valuesOf({ engine, engineDatabase, router, identityProvider, audience }: RunningStack) {
  return {
    'conductor.url': [engine],
    'conductor.databaseURL': engineDatabase,
    'conductor.apiURL': `${router}/conductor/api`,
    'oauth.issuer': identityProvider,
    'oauth.audience': audience,
  };
}

/** The database of one engine says nothing of another, nor does the audience of one issuer. */
const belongsTo: Partial<Record<StackKey, StackKey>> = {
  'conductor.databaseURL': 'conductor.url',
  'oauth.audience': 'oauth.issuer',
};

/**
 * Loads the configuration. Says so on stderr when it holds addresses of a running stack.
 * @param keys what this run needs and no option gives
 * @throws ConfigError
 */
export async function loadCommandConfig(
  { env, stderr }: Pick<Host, 'env' | 'stderr'>,
  keys: readonly StackKey[],
): Promise<Config> {
  const { config, origins } = await loadConfig({ env });
  const isSet = (key: StackKey) => origins[key] !== undefined;
  const missing = keys.filter((key) => !isSet(key) && !isSet(belongsTo[key] ?? key));
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
