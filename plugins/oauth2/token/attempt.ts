// Under which names an attempt to get a token is counted.

import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';

/** Wrong attempts let through in a minute. */
export interface AttemptLimits {
  /** From one address for one client. */
  readonly perClient: number;
  /** From one address for all clients together. */
  readonly perAddress: number;
}

export interface Attempt {
  /** IP address of the caller. */
  readonly address: string;
  readonly clientId: string;
  readonly limits: AttemptLimits;
}

/** A name to count under, and how many failures it may have. */
export interface LimitedKey {
  readonly key: string;
  readonly limit: number;
}

/** Never the client alone: then anybody could lock out anybody's client. */
export function limitedKeys({ address, clientId, limits }: Attempt): readonly LimitedKey[] {
  const network = networkOf(address);
  return [
    { key: `address ${network}`, limit: limits.perAddress },
    { key: `client ${network} ${hash('sha256', clientId, 'base64url')}`, limit: limits.perClient },
  ];
}

/** An IPv6 caller owns at least a /64 and may use any address of it; an IPv4 one may look like IPv6. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const left = tail === undefined ? groups : [...groups, '0', '0', '0', '0'];
  return left.slice(0, 4).join(':');
}
