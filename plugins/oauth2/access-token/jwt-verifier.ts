// Verifies JWT access tokens: header, key, signature and claims, in this order. Valid tokens are cached.

import type { KeyObject } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { isJsonObject } from '#lib/json/json-object.ts';
import type { Clock } from '../clock.ts';
import type { RemoteKeys } from '../provider/remote-keys.ts';
import { type AccessToken, type Claims, readClientId, readScopes } from './access-token.ts';
import { checkJwtClaims, type ClaimRules } from './claims.ts';
import { InvalidTokenError, type InvalidTokenReason } from './invalid-token-error.ts';
import { type HeaderRules, type JwtHeader, readJwtHeader } from './jwt-header.ts';
import { TokenCache } from './token-cache.ts';

/** Settings of {@link JwtVerifier}. */
export interface JwtVerifierOptions {
  rules: HeaderRules & ClaimRules;
  keys: RemoteKeys;
  clock: Clock;
}

interface Verified {
  readonly token: AccessToken;
  /** Version of the key set with which the token was verified. */
  readonly keysVersion: number;
}

const maxRemembered = 10_000;

/** Verifies JWTs with the keys of the identity provider and caches the valid ones by the digest of the token. */
export class JwtVerifier {
  readonly #options: JwtVerifierOptions;
  readonly #verified = new TokenCache<Verified>(maxRemembered);

  constructor(options: JwtVerifierOptions) {
    this.#options = options;
  }

  /**
   * Returns what a token grants if it was verified with the current keys and has not expired; undefined when the caller
   * must call `verify`.
   */
  recall(token: string): AccessToken | undefined {
    const { keys, clock, rules } = this.#options;
    const key = TokenCache.keyOf(token);
    const known = this.#verified.get(key);
    if (known === undefined) return undefined;
    const isAlive = clock.wallMs() < known.token.expiresAtMs + rules.clockToleranceSeconds * 1000;
    if (isAlive && known.keysVersion === keys.version) return known.token;
    this.#verified.delete(key);
    return undefined;
  }

  /**
   * Verifies a token (RFC 7519 section 7.2, with the rules of RFC 8725 and RFC 9068 section 4) and caches the result.
   * @throws InvalidTokenError with the first rule that the token violates
   * @throws ProviderError when the key is unknown and cannot be fetched
   */
  async verify(token: string): Promise<AccessToken> {
    const { keys, rules } = this.#options;
    const header = readJwtHeader(token, rules);
    const found = await keys.find(header.kid, header.alg);
    if (found === undefined) throw new InvalidTokenError('unknown-key');
    const verified = this.#check(token, { header, key: found.key });
    this.#verified.set(TokenCache.keyOf(token), { token: verified, keysVersion: found.version });
    return verified;
  }

  #check(token: string, { header, key }: { header: JwtHeader; key: KeyObject }): AccessToken {
    const { rules, clock } = this.#options;
    const nowSeconds = clock.wallMs() / 1000;
    const claims = checkSignature(token, key, {
      algorithms: [header.alg],
      clockTimestamp: Math.floor(nowSeconds),
      clockTolerance: rules.clockToleranceSeconds,
    });
    const exp = checkJwtClaims(claims, rules, nowSeconds);
    return {
      clientId: readClientId(claims, rules.clientIdClaims),
      scopes: readScopes(claims, rules.scopeClaims),
      expiresAtMs: exp * 1000,
    };
  }
}

function checkSignature(token: string, key: KeyObject, options: jsonwebtoken.VerifyOptions): Claims {
  let claims: unknown;
  try {
    claims = jsonwebtoken.verify(token, key, options);
  } catch (error) {
    throw new InvalidTokenError(reasonOf(error), { cause: error });
  }
  if (!isJsonObject(claims)) throw new InvalidTokenError('claims');
  return claims as Claims;
}

function reasonOf(error: unknown): InvalidTokenReason {
  if (error instanceof jsonwebtoken.TokenExpiredError) return 'expired';
  if (error instanceof jsonwebtoken.NotBeforeError) return 'not-yet-valid';
  return (error as Error).message === 'invalid signature' ? 'signature' : 'claims';
}
