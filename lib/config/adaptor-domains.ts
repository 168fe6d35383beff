// Reads the task domains of the workers that run next to a college adaptor.

import { misCodePattern } from './mis-code.ts';
import type { Config } from './schema.ts';

/** Returns the configured task domains (`adaptor.<mis>.domain`) by MIS code. */
export function adaptorDomains(config: Config): Record<string, string> {
  return adaptorKeys(config, 'domain');
}

/**
 * Returns the distinct task domains in which requests for colleges are served. Undefined stands for the default pool,
 * which serves the colleges without a domain. The default pool is left out when there is no default adaptor and every
 * adaptor with a URL has a domain. If no adaptor has a URL, the default pool is included, because only the workers know
 * which colleges they serve.
 */
export function collegeDomains(config: Config): (string | undefined)[] {
  const domains = adaptorDomains(config);
  const distinct = [...new Set(Object.values(domains))];
  const withUrl = Object.keys(adaptorKeys(config, 'url'));
  const isDefaultUsed =
    config['adaptor.url'] !== undefined || withUrl.length === 0 || withUrl.some((mis) => domains[mis] === undefined);
  return isDefaultUsed ? [undefined, ...distinct] : distinct;
}

/** Returns the values of the keys `adaptor.<mis>.<key>` by MIS code. */
function adaptorKeys(config: Config, key: 'domain' | 'url'): Record<string, string> {
  const pattern = new RegExp(`^adaptor\\.(${misCodePattern})\\.${key}$`);
  const entries = Object.entries(config as Readonly<Record<string, unknown>>).flatMap(([name, value]) => {
    const code = pattern.exec(name)?.[1];
    return code === undefined ? [] : [[code, String(value)] as const];
  });
  return Object.fromEntries(entries);
}
