// What a checked access token says: who holds it, what it allows, until when.

import { InvalidTokenError } from './invalid-token-error.ts';

export interface AccessToken {
  /** `client_id`, else `azp`, else `sub`. */
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** End of its life in milliseconds since the epoch, leeway not included. */
  readonly expiresAtMs: number;
}

/** Claims of a token, or what introspection says about it. */
export type Claims = Readonly<Record<string, unknown>>;

/** Printable ASCII: an id goes into logs and metrics. */
const clientIdPattern = /^[\x20-\x7e]{1,256}$/;

/** Who holds the token. @throws InvalidTokenError when no claim says so */
export function readClientId(claims: Claims): string {
  const clientId = claims['client_id'] ?? claims['azp'] ?? claims['sub'];
  if (typeof clientId !== 'string' || !clientIdPattern.test(clientId)) throw new InvalidTokenError('claims');
  return clientId;
}

/**
 * Scopes from `scope` (RFC 9068 section 2.2.3), else `scp`, else `scopes`, as providers differ: a list, or text
 * separated by spaces. An element of a list is one scope, whatever it contains.
 * @throws InvalidTokenError when the claim is neither
 */
export function readScopes(claims: Claims): ReadonlySet<string> {
  const value = claims['scope'] ?? claims['scp'] ?? claims['scopes'];
  if (value === undefined || value === null) return new Set();
  if (typeof value === 'string') return new Set(value.split(' ').filter((scope) => scope !== ''));
  if (Array.isArray(value) && value.every((scope) => typeof scope === 'string')) return new Set(value);
  throw new InvalidTokenError('claims');
}
