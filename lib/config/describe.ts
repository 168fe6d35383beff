// Lists the effective configuration for display: keys, values with masked secrets, and origins.

import { configSchema } from './schema.ts';
import type { LoadedConfig } from './load.ts';
import { withoutPassword } from './without-password.ts';

/** One key of the list. */
export interface ConfigLine {
  key: string;
  /** Text of the value; `********` for a secret, undefined when not set. */
  value: string | undefined;
  /** The layer that set the key, `default`, or `not set`. */
  origin: string;
}

/** Returns all known keys in alphabetical order. */
export function describeConfig({ config, origins }: LoadedConfig): ConfigLine[] {
  const keys = new Set([...Object.keys(configSchema.properties), ...Object.keys(config)]);
  return [...keys].sort().map((key) => {
    const value = (config as unknown as Record<string, unknown>)[key];
    return {
      key,
      value: value === undefined ? undefined : isSecret(key) ? '********' : withoutPassword(String(value)),
      origin: origins[key] ?? (value === undefined ? 'not set' : 'default'),
    };
  });
}

function isSecret(key: string): boolean {
  return (configSchema.properties[key] as { secret?: boolean } | undefined)?.secret === true;
}
