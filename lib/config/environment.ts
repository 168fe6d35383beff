// Maps environment variables to configuration keys: ROUTER_PORT, or a variable named `router.port`, sets `router.port`.

import { isBackEndName } from './back-end-name.ts';
import { deprecatedKeys, removedKeys } from './deprecated-keys.ts';
import { configSchema } from './schema.ts';
import type { Layer } from './sources.ts';

const names = [configSchema.properties, deprecatedKeys, removedKeys].flatMap((keys) => Object.keys(keys));
const nameByVariable = new Map(names.map((name) => [variableOf(name), name]));

/**
 * Returns the environment variable of a key: the key in upper case, with an underscore for each character other than a
 * letter or digit.
 */
export function variableOf(key: string): string {
  return key.replace(/[^0-9A-Za-z]/g, '_').toUpperCase();
}

/**
 * Returns the key that a variable sets, which may be a deprecated or removed name; undefined for an unrelated variable.
 * ADAPTOR_<MIS>_URL sets `adaptor.<MIS>.url`, and BACKEND_COURSE_CATALOG_URL sets `backEnd.course-catalog.url`.
 */
export function keyOfVariable(name: string): string | undefined {
  if (names.includes(name)) return name;
  if (Object.keys(configSchema.patternProperties).some((pattern) => new RegExp(pattern).test(name))) return name;
  const adaptor = /^ADAPTOR_([0-9A-Z]{1,8})_(URL|DOMAIN)$/.exec(name);
  if (adaptor) return `adaptor.${adaptor[1]}.${adaptor[2]?.toLowerCase()}`;
  const backEnd = /^BACKEND_([A-Z][0-9A-Z_]*)_URL$/.exec(name)?.[1]?.toLowerCase().replaceAll('_', '-');
  if (backEnd !== undefined && isBackEndName(backEnd)) return `backEnd.${backEnd}.url`;
  return nameByVariable.get(name);
}

/**
 * Returns the environment as the last configuration layer, which overrides all others. Empty variables count as not
 * set.
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Layer {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const key = value === undefined || value === '' ? undefined : keyOfVariable(name);
    if (key !== undefined) values[key] = value as string;
  }
  return { origin: 'environment', values };
}
