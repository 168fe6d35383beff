// Known advisories for the dependencies of Express Gateway 1.16.11, and the versions that the lock file has instead.

/** An advisory for a package, and how the lock file resolves it. */
export interface Advisory {
  readonly package: string;
  /** Versions below this one are affected; `*` for all versions. */
  readonly below: string;
  /** GHSA or CVE ids, or the issue when there is no id. */
  readonly ids: readonly string[];
  /** Versions in package-lock.json; empty when the package is not installed or replaced by a stub. */
  readonly resolved: readonly string[];
}

/** The known advisories. */
export const advisories: readonly Advisory[] = [
  {
    package: 'jsonwebtoken',
    below: '9.0.0',
    ids: ['GHSA-8cf7-32gw-wr33', 'GHSA-hjrf-2m68-5959', 'GHSA-qwph-4952-7xr6'],
    resolved: ['9.0.3'],
  },
  { package: 'passport', below: '0.6.0', ids: ['GHSA-v923-w3x8-wh69'], resolved: [] },
  {
    package: 'http-proxy',
    below: '*',
    ids: ['node-http-proxy#1647', 'node-http-proxy#1720', 'node-http-proxy#1721'],
    resolved: [],
  },
  { package: 'proxy-agent', below: '5.0.0', ids: ['GHSA-9j49-mfvp-vmhm'], resolved: [] },
  { package: 'pac-resolver', below: '5.0.0', ids: ['GHSA-9j49-mfvp-vmhm'], resolved: [] },
  { package: 'degenerator', below: '3.0.1', ids: ['GHSA-9j49-mfvp-vmhm'], resolved: [] },
  { package: 'ip', below: '*', ids: ['GHSA-2p57-rm9w-gvfp'], resolved: [] },
  { package: 'ejs', below: '3.1.10', ids: ['express-gateway#1065'], resolved: [] },
  { package: 'superagent', below: '10.0.0', ids: ['express-gateway#1069'], resolved: [] },
  { package: 'formidable', below: '3.5.3', ids: ['GHSA-75v8-2h7p-7m2m'], resolved: [] },
  { package: 'uuid', below: '11.1.1', ids: ['GHSA-w5hq-g745-h8pq'], resolved: [] },
  { package: 'redis', below: '3.1.1', ids: ['GHSA-35q2-47q7-3pc3'], resolved: ['6.3.1'] },
  { package: 'axios', below: '1.0.0', ids: ['express-gateway#1069'], resolved: ['1.21.1'] },
  { package: 'got', below: '11.8.5', ids: ['express-gateway#1069'], resolved: [] },
  { package: 'unset-value', below: '2.0.1', ids: ['express-gateway#1069'], resolved: [] },
  { package: 'braces', below: '3.0.3', ids: ['GHSA-grv7-fg5c-xmjg'], resolved: ['3.0.3'] },
  { package: 'micromatch', below: '4.0.8', ids: ['GHSA-952p-6rrq-rcjv'], resolved: [] },
  { package: 'tmp', below: '0.2.4', ids: ['express-gateway#1069'], resolved: ['0.2.7'] },
  { package: 'async', below: '2.6.4', ids: ['GHSA-fwr7-v2mv-hh25'], resolved: ['3.2.6'] },
  { package: 'path-to-regexp', below: '0.1.13', ids: ['CVE-2026-4867'], resolved: ['0.1.13'] },
];

/** Returns true when `version` is below `below`. Both are `major.minor.patch`; pre-release suffixes are ignored. */
export function isBelow(version: string, below: string): boolean {
  if (below === '*') return true;
  const numbers = (text: string) => text.split(/[-+]/, 1)[0]?.split('.').map(Number) ?? [];
  const [left, right] = [numbers(version), numbers(below)];
  const at = [0, 1, 2].find((index) => left[index] !== right[index]);
  return at !== undefined && Number(left[at]) < Number(right[at]);
}
