// The access token of the workers: requested on demand, cached, and renewed before it expires.

import { readJsonObject } from '#lib/json/json-object.ts';

/** A response from the router's token endpoint in Conductor's format. */
export interface IssuedToken {
  token: string;
  /** Lifetime in seconds; when absent, the `exp` claim of a JWT is used. */
  expires_in?: number;
}

/**
 * Lifetime that is assumed when neither the response nor the token states one (RFC 6749 section 5.1 only recommends
 * `expires_in`).
 */
const unknownLifetimeSeconds = 60;
/** Fraction of its lifetime after which a token is renewed in the background. */
const renewAfter = 0.8;

interface CachedToken {
  value: string;
  renewAt: number;
  expiresAt: number;
}

/** A token cache for all calls of a process. At most one token request is in flight at any time. */
export class AccessToken {
  readonly #issue: () => Promise<IssuedToken>;
  #cached: CachedToken | null = null;
  #renewal: Promise<CachedToken> | null = null;

  /** @param issue requests a new token from the token endpoint */
  constructor(issue: () => Promise<IssuedToken>) {
    this.#issue = issue;
  }

  /**
   * Returns a token that has not expired. Near the end of its lifetime, the token is renewed in the background.
   * @throws the error of `issue`
   */
  async get(): Promise<string> {
    const cached = this.#cached;
    if (cached === null || performance.now() >= cached.expiresAt) return (await this.#renew()).value;
    if (performance.now() >= cached.renewAt) this.#renew().catch(() => undefined);
    return cached.value;
  }

  /** Removes a rejected token from the cache; the next call requests a new one. */
  invalidate(value: string): void {
    if (this.#cached?.value === value) this.#cached = null;
  }

  #renew(): Promise<CachedToken> {
    this.#renewal ??= this.#issue()
      .then((issued) => (this.#cached = toCachedToken(issued)))
      .finally(() => (this.#renewal = null));
    return this.#renewal;
  }
}

function toCachedToken(issued: IssuedToken): CachedToken {
  const now = performance.now();
  const lifetimeMs = 1_000 * Math.max(0, lifetimeSeconds(issued));
  return { value: issued.token, renewAt: now + lifetimeMs * renewAfter, expiresAt: now + lifetimeMs };
}

function lifetimeSeconds({ token, expires_in: expiresIn }: IssuedToken): number {
  if (typeof expiresIn === 'number') return expiresIn;
  const { exp, iat } = readClaims(token);
  if (typeof exp !== 'number') return unknownLifetimeSeconds;
  // Both claims use the provider's clock: their difference is right even when the local clock is not.
  return exp - (typeof iat === 'number' ? iat : Date.now() / 1_000);
}

function readClaims(token: string): { exp?: unknown; iat?: unknown } {
  return readJsonObject(Buffer.from(token.split('.')[1] ?? '', 'base64url')) ?? {};
}
