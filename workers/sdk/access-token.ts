// The workers' access token: fetched when it is needed, kept, renewed before it expires.

/** A token as the token endpoint hands it out. */
export interface IssuedToken {
  token: string;
  /** Seconds it stays valid; when absent, `exp` of a JWT is read instead. */
  expires_in?: number;
}

/** Assumed when neither the answer nor the token tells (RFC 6749 section 5.1 only recommends `expires_in`). */
const unknownLifetimeSeconds = 60;
/** Share of its lifetime after which a token is renewed in the background. */
const renewAfter = 0.8;

interface HeldToken {
  value: string;
  renewAt: number;
  expiresAt: number;
}

/** One token for all calls. At most one request for a new one is under way at any time. */
export class AccessToken {
  readonly #issue: () => Promise<IssuedToken>;
  #held: HeldToken | null = null;
  #renewal: Promise<HeldToken> | null = null;

  /** @param issue asks the token endpoint */
  constructor(issue: () => Promise<IssuedToken>) {
    this.#issue = issue;
  }

  /** A token that has not expired. @throws what `issue` throws, when there is none in hand */
  async get(): Promise<string> {
    const held = this.#held;
    if (held === null || performance.now() >= held.expiresAt) return (await this.#renew()).value;
    if (performance.now() >= held.renewAt) this.#renew().catch(() => undefined);
    return held.value;
  }

  /** Says that a token was refused: the next call gets another one. */
  refuse(value: string): void {
    if (this.#held?.value === value) this.#held = null;
  }

  #renew(): Promise<HeldToken> {
    this.#renewal ??= this.#issue()
      .then((issued) => (this.#held = hold(issued)))
      .finally(() => (this.#renewal = null));
    return this.#renewal;
  }
}

function hold(issued: IssuedToken): HeldToken {
  const now = performance.now();
  const lifetimeMs = 1_000 * Math.max(0, lifetimeSeconds(issued));
  return { value: issued.token, renewAt: now + lifetimeMs * renewAfter, expiresAt: now + lifetimeMs };
}

function lifetimeSeconds({ token, expires_in: expiresIn }: IssuedToken): number {
  if (typeof expiresIn === 'number') return expiresIn;
  const { exp, iat } = readClaims(token);
  if (typeof exp !== 'number') return unknownLifetimeSeconds;
  // Both claims are by the provider's clock: their difference holds even when ours is wrong.
  return exp - (typeof iat === 'number' ? iat : Date.now() / 1_000);
}

function readClaims(token: string): { exp?: unknown; iat?: unknown } {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : {};
  } catch {
    return {};
  }
}
