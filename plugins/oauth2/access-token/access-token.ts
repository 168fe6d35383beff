// A verified access token: its client, its scopes and its expiry.

import { InvalidTokenError } from './invalid-token-error.ts';

/** The scopes that a verified access token grants, and the client to which it grants them. */
export interface AccessToken {
  /** The OAuth client to which the token was issued; see {@link readClientId}. */
  readonly clientId: string;
  readonly scopes: ReadonlySet<string>;
  /** Expiry in milliseconds since the epoch, leeway not included; Infinity for an opaque token without `exp`. */
  readonly expiresAtMs: number;
}

/** Claims of a JWT, or the introspection response for an opaque token. */
export type Claims = Readonly<Record<string, unknown>>;

/** Printable ASCII, because the id goes into logs and metrics. */
const clientIdPattern = /^[\x20-\x7e]{1,256}$/;

/**
 * Returns the OAuth client to which a token was issued. `sub` never replaces a missing claim: it may name a user with
 * the same name as a client (RFC 9068 section 5, RFC 9700 section 4.15).
 * @param names claims that may name the client; the first one present counts (`oauth.clientIdClaims`)
 * @throws InvalidTokenError `client` when no such claim is present, or when the first one present is not printable
 *   ASCII of 1 to 256 characters
 */
export function readClientId(claims: Claims, names: readonly string[]): string {
  const clientId = names.map((name) => claims[name] ?? undefined).find((claim) => claim !== undefined);
  if (typeof clientId !== 'string' || !clientIdPattern.test(clientId)) throw new InvalidTokenError('client');
  return clientId;
}

/**
 * Returns the scopes. RFC 9068 section 2.2.3 puts them in `scope`, but providers differ. The claim is a list, or a
 * string with spaces between the scopes. An element of a list is one scope, whatever it contains.
 * @param names claims that may contain the scopes; the first one present counts (`oauth.scopeClaims`)
 * @throws InvalidTokenError `claims` when the claim is neither a list of strings nor a string
 */
export function readScopes(claims: Claims, names: readonly string[]): ReadonlySet<string> {
  const value = names.map((name) => claims[name] ?? undefined).find((claim) => claim !== undefined);
  if (value === undefined) return new Set();
  if (typeof value === 'string') return new Set(value.split(' ').filter((scope) => scope !== ''));
  if (Array.isArray(value) && value.every((scope) => typeof scope === 'string')) return new Set(value);
  throw new InvalidTokenError('claims');
}
