// Determines the counter keys of an attempt to get a token.

import { hash } from 'node:crypto';
import { networkOf } from '../../../gateway/plugin-api/client-address.ts';

/** Maximum number of failed attempts per minute. */
export interface AttemptLimits {
  /** From one address for one client. */
  readonly perClient: number;
  /** From one address for all clients together. */
  readonly perAddress: number;
}

/** An attempt to get a token. */
export interface Attempt {
  /** IP address of the caller. */
  readonly address: string;
  readonly clientId: string;
  readonly limits: AttemptLimits;
}

/** A counter key and its maximum number of failures. */
export interface LimitedKey {
  readonly key: string;
  readonly limit: number;
}

/**
 * Returns the counter keys of an attempt. No key consists of the client alone, because otherwise anybody could lock out
 * any client.
 */
export function limitedKeys({ address, clientId, limits }: Attempt): readonly LimitedKey[] {
  const network = networkOf(address);
  return [
    { key: `address ${network}`, limit: limits.perAddress },
    { key: `client ${network} ${hash('sha256', clientId, 'base64url')}`, limit: limits.perClient },
  ];
}
