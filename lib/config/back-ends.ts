// Reads the plain back ends that have an address in the configuration.

import { backEndNamePattern } from './back-end-name.ts';
import type { Config } from './schema.ts';

const backEndKey = new RegExp(`^backEnd\\.(${backEndNamePattern})\\.url$`);

/** Back ends with a special key for the address, which is used when `backEnd.<name>.url` is absent. */
const ownKeys = new Map([
  ['lms-dw', 'lmsDW.url'],
  ['movies', 'movies.url'],
] as const);

/** Returns the configuration key for the address of a back end. */
export function keyOfBackEnd(name: string): string {
  return new Map<string, string>(ownKeys).get(name) ?? `backEnd.${name}.url`;
}

/** Returns the base URLs of the back ends that have one, by name. */
export function backEndsOf(config: Config): Record<string, string> {
  const own = [...ownKeys].map(([name, key]) => [name, config[key]] as const);
  const named = Object.entries(config).map(([key, value]) => [backEndKey.exec(key)?.[1], value] as const);
  return Object.fromEntries([...own, ...named].filter(([name, url]) => name !== undefined && url !== undefined));
}
