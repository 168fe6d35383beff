// Under which names an attempt to get a token is counted.

import { hash } from 'node:crypto';
import { networkOf } from '../../../gateway/plugin-api/client-address.ts';

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
