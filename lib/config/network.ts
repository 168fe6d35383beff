// Validates IP addresses and networks in the configuration.

import { isIP } from 'node:net';

/** Returns true for an IP address or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return bits !== -1 && rest.length === 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && +prefix <= bits));
}
