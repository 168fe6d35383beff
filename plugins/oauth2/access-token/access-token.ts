// What a checked access token says: who holds it, what it allows, until when.

import { InvalidTokenError } from './invalid-token-error.ts';

export interface AccessToken {
  /** The OAuth client that the token was issued to; see {@link readClientId}. */
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** End of its life in milliseconds since the epoch, leeway not included. */
  readonly expiresAtMs: number;
}

/** Claims of a token, or what introspection says about it. */
export type Claims = Readonly<Record<string, unknown>>;

/** Printable ASCII: an id goes into logs and metrics. */
const clientIdPattern = /^[\x20-\x7e]{1,256}$/;

/**
 * The OAuth client that a token was issued to. `sub` never stands in for a missing claim: it may name a user, who could
 * be called like a client (RFC 9068 section 5, RFC 9700 section 4.15).
 * @param names claims that may say so, the first that is there counts: `oauth.clientIdClaims`
 * @throws InvalidTokenError `client` when none of them does
 */
export function readClientId(claims: Claims, names: readonly string[]): string {
  const clientId = names.map((name) => claims[name] ?? undefined).find((claim) => claim !== undefined);
  if (typeof clientId !== 'string' || !clientIdPattern.test(clientId)) throw new InvalidTokenError('client');
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
