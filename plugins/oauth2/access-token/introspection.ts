// Verifies opaque access tokens by asking the identity provider (RFC 7662).

import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import { networkOf } from '../../../gateway/plugin-api/client-address.ts';
import type { Clock } from '../clock.ts';
import type { OAuthMetrics } from '../metrics.ts';
import { basicCredentials } from '../provider/basic-credentials.ts';
import { ProviderError } from '../provider/provider-error.ts';
import { parseProviderResponse, type ProviderHttp } from '../provider/provider-http.ts';
import { type AccessToken, type Claims, readClientId, readScopes } from './access-token.ts';
import { checkSenderConstraint, checkTimes, type ClaimRules, isForAudience, readTime } from './claims.ts';
import { InvalidTokenError } from './invalid-token-error.ts';
import { TokenCache } from './token-cache.ts';

/** Settings of {@link Introspection}. */
export interface IntrospectionOptions {
  url: string;
  /** Credentials with which the router authenticates. */
  clientId: string;
  clientSecret: string;
  /** Whether a response without `aud`, which RFC 7662 allows, violates a configured audience. */
  requiresAudience: boolean;
  /** Whether a response without `token_type`, which RFC 7662 allows, is rejected. */
  requiresTokenType: boolean;
  rules: ClaimRules;
  http: Pick<ProviderHttp, 'request'>;
  clock: Clock;
  metrics: OAuthMetrics;
}

const maxActive = 10_000;
const maxRejected = 1_000;
/**
 * How long a result is reused, in milliseconds. This is the longest time for which a revoked token is accepted
 * (RFC 7662 section 4). A rejection is kept to absorb repeated requests, but only briefly, because the provider may
 * learn of a new token after the token was issued.
 */
const activeForMs = 30_000;
const inactiveForMs = 1_000;
/**
 * Maximum number of concurrent introspections; more are rejected, so that invented tokens cannot flood the provider.
 */
export const maxIntrospections = 64;
/**
 * Maximum number of concurrent introspections of tokens that were not active before. The remaining introspections are
 * reserved for tokens in use.
 */
const maxUnknown = 48;
/** Maximum number of concurrent introspections, from one client network, of tokens that were not active before. */
const maxUnknownOfNetwork = 24;
const maxBytes = 65_536;

interface Remembered<Result> {
  readonly result: Result;
  readonly untilMs: number;
}

/**
 * Introspects tokens (RFC 7662 section 2) and caches the results by the digest of the token. Unknown tokens, which
 * anybody can invent, cannot use up the introspections and the cache that tokens in use need.
 */
export class Introspection {
  readonly #options: IntrospectionOptions;
  /** Results of active tokens. Outdated results are kept, to tell tokens in use from unknown ones. */
  readonly #active = new TokenCache<Remembered<AccessToken>>(maxActive);
  /** Rejections of tokens. They have a separate cache, so that invented tokens do not displace active ones. */
  readonly #rejected = new TokenCache<Remembered<InvalidTokenError>>(maxRejected);
  readonly #open = new Map<string, Promise<AccessToken>>();
  /** Open introspections of unknown tokens, by client network. */
  readonly #unknown = new KeyedCounter();

  constructor(options: IntrospectionOptions) {
    this.#options = options;
  }

  /**
   * Verifies a token and returns what it grants. Concurrent requests with the same token share one introspection.
   * @throws InvalidTokenError when the token is inactive or not meant for this router
   * @throws ProviderError when the endpoint gives no usable response, or `busy` when too many introspections are open
   */
  async check(token: string, clientAddress: string): Promise<AccessToken> {
    const key = TokenCache.keyOf(token);
    const active = this.#active.get(key);
    if (active !== undefined && this.#isFresh(active) && !this.#isExpired(active.result)) return active.result;
    const rejected = this.#rejected.get(key);
    if (rejected !== undefined && this.#isFresh(rejected)) throw rejected.result;
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const unknownOf = active === undefined ? networkOf(clientAddress) : undefined;
    if (this.#isBusy(unknownOf)) throw new ProviderError('busy', 'too many introspections at once');
    if (unknownOf !== undefined) this.#unknown.add(unknownOf, 1);
    const question = this.#ask(token, key).finally(() => {
      this.#open.delete(key);
      if (unknownOf !== undefined) this.#unknown.add(unknownOf, -1);
    });
    this.#open.set(key, question);
    return question;
  }

  #isFresh({ untilMs }: Remembered<unknown>): boolean {
    return this.#options.clock.ticksMs() < untilMs;
  }

  #isExpired({ expiresAtMs }: AccessToken): boolean {
    const { clock, rules } = this.#options;
    return clock.wallMs() >= expiresAtMs + rules.clockToleranceSeconds * 1000;
  }

  /** @param unknownOf client network of an unknown token; undefined for a token that was active before */
  #isBusy(unknownOf: string | undefined): boolean {
    if (this.#open.size >= maxIntrospections) return true;
    if (unknownOf === undefined) return false;
    return this.#unknown.total >= maxUnknown || this.#unknown.of(unknownOf) >= maxUnknownOfNetwork;
  }

  async #ask(token: string, key: string): Promise<AccessToken> {
    const { clock, metrics } = this.#options;
    try {
      const checked = this.#read(await this.#fetch(token));
      this.#active.set(key, { result: checked, untilMs: clock.ticksMs() + activeForMs });
      metrics.introspections.inc({ result: 'active' });
      return checked;
    } catch (error) {
      if (error instanceof InvalidTokenError) {
        this.#active.delete(key);
        this.#rejected.set(key, { result: error, untilMs: clock.ticksMs() + inactiveForMs });
      }
      metrics.introspections.inc({ result: error instanceof ProviderError ? error.code : 'inactive' });
      throw error;
    }
  }

  async #fetch(token: string): Promise<Claims> {
    const { url, clientId, clientSecret, http } = this.#options;
    const { status, body } = await http.request({
      method: 'POST',
      url,
      headers: {
        authorization: basicCredentials(clientId, clientSecret),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
      maxBytes,
    });
    // A 401 concerns the router's own credentials, not the token (RFC 7662 section 2.3).
    if (status !== 200) throw new ProviderError('bad-status', `introspection: responded with ${status}`);
    return parseProviderResponse(body, 'introspection');
  }

  #read(claims: Claims): AccessToken {
    const { rules, requiresAudience, requiresTokenType, clock } = this.#options;
    if (typeof claims['active'] !== 'boolean')
      throw new ProviderError('bad-answer', 'introspection: "active" is missing or not a boolean');
    if (!claims['active']) throw new InvalidTokenError('inactive');
    checkTokenType(claims, requiresTokenType);
    const { iss, aud } = claims;
    if (iss !== undefined && iss !== rules.issuer) throw new InvalidTokenError('issuer');
    // Without this check, a token for another service of the same provider would be accepted (RFC 9700 section 2.3).
    const isChecked = rules.audience !== undefined && (aud !== undefined || requiresAudience);
    if (isChecked && !isForAudience(aud, rules.audience)) throw new InvalidTokenError('audience');
    checkTimes(claims, rules, clock.wallMs() / 1000);
    checkSenderConstraint(claims);
    const exp = readTime(claims, 'exp');
    const expiresAtMs = exp === undefined ? Number.POSITIVE_INFINITY : exp * 1000;
    return {
      clientId: readClientId(claims, rules.clientIdClaims),
      scopes: readScopes(claims, rules.scopeClaims),
      expiresAtMs,
    };
  }
}

/**
 * Rejects tokens that are not bearer access tokens. The provider also finds active refresh tokens, whatever
 * `token_type_hint` says (RFC 7662 section 2.1). A refresh token is recognised by a missing `token_type` in the
 * response, because only access tokens have a type (RFC 6749 section 7.1), or by `token_use` (Ory Hydra; Amazon Cognito
 * calls access tokens `access`).
 * @throws InvalidTokenError
 */
function checkTokenType({ token_type: type, token_use: use }: Claims, requiresTokenType: boolean): void {
  if (use !== undefined && use !== 'access_token' && use !== 'access') {
    throw new InvalidTokenError('token-type', { detail: 'token_use is not access_token' });
  }
  if (type !== undefined && String(type).toLowerCase() !== 'bearer') throw new InvalidTokenError('token-type');
  if (type === undefined && requiresTokenType) {
    throw new InvalidTokenError('token-type', {
      detail:
        'the introspection response has no token_type; for a provider that returns none, set oauth.introspectionRequiresTokenType=false',
    });
  }
}
