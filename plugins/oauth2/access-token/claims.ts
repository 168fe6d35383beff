// Checks the claims that every access token must satisfy: issuer, audience and a bounded lifetime.

import type { Claims } from './access-token.ts';
import { InvalidTokenError } from './invalid-token-error.ts';

/** The rules that the claims of an access token must satisfy. */
export interface ClaimRules {
  /** Required `iss`, compared exactly. */
  readonly issuer: string;
  /** Required member of `aud`; not checked when undefined. */
  readonly audience: string | undefined;
  /** Claims that may name the client, in order. */
  readonly clientIdClaims: readonly string[];
  /** Claims that may contain the scopes, in order. */
  readonly scopeClaims: readonly string[];
  /** Leeway for `exp`, `nbf` and `iat` (RFC 7519 section 4.1.4). */
  readonly clockToleranceSeconds: number;
  /** Maximum time from `iat`, and from the time of the check, to `exp`, in seconds. */
  readonly maxTokenSeconds: number;
}

/**
 * Checks the claims of a JWT whose signature is valid (RFC 7519 section 4.1, RFC 9068 section 4).
 * @returns expiry in seconds since the epoch
 * @throws InvalidTokenError with the first rule that a claim violates
 */
export function checkJwtClaims(claims: Claims, rules: ClaimRules, nowSeconds: number): number {
  if (claims['iss'] !== rules.issuer) throw new InvalidTokenError('issuer');
  if (rules.audience !== undefined && !isForAudience(claims['aud'], rules.audience)) {
    throw new InvalidTokenError('audience');
  }
  const exp = readTime(claims, 'exp');
  if (exp === undefined) throw new InvalidTokenError('claims');
  checkTimes(claims, rules, nowSeconds);
  const iat = readTime(claims, 'iat') ?? nowSeconds;
  const life = exp - Math.min(iat, nowSeconds);
  if (life > rules.maxTokenSeconds + rules.clockToleranceSeconds) throw new InvalidTokenError('too-long-life');
  checkSenderConstraint(claims);
  return exp;
}

/**
 * Checks `exp`, `nbf` and `iat` (RFC 7519 section 4.1) when present. An `iat` in the future counts as not yet valid.
 * @throws InvalidTokenError
 */
export function checkTimes(claims: Claims, { clockToleranceSeconds }: ClaimRules, nowSeconds: number): void {
  const exp = readTime(claims, 'exp') ?? Number.POSITIVE_INFINITY;
  const nbf = readTime(claims, 'nbf') ?? Number.NEGATIVE_INFINITY;
  const iat = readTime(claims, 'iat') ?? Number.NEGATIVE_INFINITY;
  if (nowSeconds >= exp + clockToleranceSeconds) throw new InvalidTokenError('expired');
  if (Math.max(nbf, iat) > nowSeconds + clockToleranceSeconds) throw new InvalidTokenError('not-yet-valid');
}

/**
 * Rejects tokens that are bound to a key of their holder (`cnf`, RFC 7800; DPoP: RFC 9449 section 7.2, mutual TLS:
 * RFC 8705 section 3). They are invalid without a proof of possession, and no proof is checked here.
 * @throws InvalidTokenError
 */
export function checkSenderConstraint(claims: Claims): void {
  if (claims['cnf'] !== undefined && claims['cnf'] !== null) throw new InvalidTokenError('sender-constrained');
}

/** Returns whether `aud` is the audience or a list that contains it (RFC 7519 section 4.1.3). */
export function isForAudience(aud: unknown, audience: string): boolean {
  return aud === audience || (Array.isArray(aud) && aud.includes(audience));
}

/**
 * Reads a NumericDate (RFC 7519 section 2) in seconds since the epoch; undefined when absent.
 * @throws InvalidTokenError `claims` for infinity (JSON `1e999`) and values that are not numbers
 */
export function readTime(claims: Claims, name: 'exp' | 'nbf' | 'iat'): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new InvalidTokenError('claims');
  return value;
}
