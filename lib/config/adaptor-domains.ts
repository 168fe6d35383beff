// The task domains of workers that run beside an adaptor.

import { misCodePattern } from './mis-code.ts';
import type { Config } from './schema.ts';

const domainKey = new RegExp(`^adaptor\\.(${misCodePattern})\\.domain$`);

/** Returns the task domains of the configuration (`adaptor.<mis>.domain`) by MIS code. */
export function adaptorDomains(config: Config): Record<string, string> {
  const entries = Object.entries(config as Readonly<Record<string, unknown>>).flatMap(([key, value]) => {
    const code = domainKey.exec(key)?.[1];
    return code === undefined ? [] : [[code, String(value)] as const];
  });
  return Object.fromEntries(entries);
}
