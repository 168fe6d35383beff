// Verifies access tokens: JWTs by their signature, opaque tokens by introspection.

import type { OAuthMetrics } from '../metrics.ts';
import { ProviderError } from '../provider/provider-error.ts';
import type { AccessToken } from './access-token.ts';
import type { Introspection } from './introspection.ts';
import { InvalidTokenError } from './invalid-token-error.ts';
import type { JwtVerifier } from './jwt-verifier.ts';

/** Settings of {@link AccessTokens}. */
export interface AccessTokensOptions {
  verifier: JwtVerifier;
  /** Undefined when opaque tokens are not accepted. */
  introspection: Introspection | undefined;
  metrics: OAuthMetrics;
}

const maxTokenBytes = 8_192;
/** The characters of a bearer token (RFC 6750 section 2.1). */
const bearerToken = /^[\w.~+/-]+=*$/;

/** Verifies access tokens: JWTs (RFC 9068) locally, opaque ones by introspection (RFC 7662). Counts the results. */
export class AccessTokens {
  readonly #options: AccessTokensOptions;

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /**
   * Verifies a token and returns what it grants. A token with three segments is a JWT; any other token is opaque.
   * @param clientAddress address of the client that sent the token; empty for a token of this program
   * @throws InvalidTokenError when it must not be accepted
   * @throws ProviderError when the identity provider must be asked and gives no usable response
   */
  async check(token: string, clientAddress = ''): Promise<AccessToken> {
    const { tokensChecked } = this.#options.metrics;
    try {
      const known = this.recall(token);
      const checked = known ?? (await this.#checkUnknown(token, clientAddress));
      tokensChecked.inc({ result: known === undefined ? 'valid' : 'cached' });
      return checked;
    } catch (error) {
      tokensChecked.inc({ result: resultOf(error) });
      throw error;
    }
  }

  /**
   * Returns what a token grants if it is a JWT that was verified before and is still valid; undefined when the caller
   * must call `check`.
   */
  recall(token: string): AccessToken | undefined {
    return token.length <= maxTokenBytes ? this.#options.verifier.recall(token) : undefined;
  }

  async #checkUnknown(token: string, clientAddress: string): Promise<AccessToken> {
    if (token.length > maxTokenBytes) throw new InvalidTokenError('size');
    const isJwt = token.split('.').length === 3;
    if (isJwt) return this.#options.verifier.verify(token);
    const { introspection } = this.#options;
    if (introspection === undefined || !bearerToken.test(token)) throw new InvalidTokenError('format');
    return introspection.check(token, clientAddress);
  }
}

function resultOf(error: unknown): string {
  if (error instanceof InvalidTokenError) return error.reason;
  if (!(error instanceof ProviderError)) return 'error';
  return error.code === 'busy' ? 'busy' : 'unavailable';
}
