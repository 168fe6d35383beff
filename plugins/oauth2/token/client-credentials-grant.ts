// Requests a token from the identity provider with the client's own credentials (RFC 6749 section 4.4).

import type { Config } from '#lib/config/schema.ts';
import { basicCredentials } from '../provider/basic-credentials.ts';
import { ProviderError } from '../provider/provider-error.ts';
import { parseProviderResponse, type ProviderResponse, type ProviderHttp } from '../provider/provider-http.ts';
import type { ProviderEndpoints, ProviderMetadata } from '../provider/provider-metadata.ts';
import type { ClientCredentials } from './client-authentication.ts';
import { isOAuthErrorCode, OAuthError } from './oauth-error.ts';

/** A token response (RFC 6749 section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Lifetime in seconds. */
  readonly expires_in?: number;
  readonly scope?: string;
}

/** Settings of {@link ClientCredentialsGrant}. */
export interface ClientCredentialsGrantOptions {
  config: Pick<Config, 'oauth.tokenResource' | 'oauth.tokenAudience' | 'oauth.tokenScope'>;
  metadata: ProviderMetadata;
  http: ProviderHttp;
}

const maxBytes = 65_536;
const where = 'token endpoint';
/** Errors that no client can fix; `invalid_target` (RFC 8707 section 2) concerns `oauth.tokenResource`. */
const notClientErrors: readonly unknown[] = ['server_error', 'temporarily_unavailable', 'invalid_target'];

/** A client of the identity provider's token endpoint for the client credentials grant. */
export class ClientCredentialsGrant {
  readonly #options: ClientCredentialsGrantOptions;

  constructor(options: ClientCredentialsGrantOptions) {
    this.#options = options;
  }

  /**
   * Requests a token and returns the response from the provider, reduced to the members of RFC 6749 section 5.1.
   * @param requestedScope scope that the client requested; when undefined, `oauth.tokenScope` applies, or the provider
   *   chooses
   * @throws OAuthError when the provider rejects the request
   * @throws ProviderError when the provider gives no usable response
   */
  async request(client: ClientCredentials, requestedScope: string | undefined): Promise<TokenResponse> {
    const { config, metadata, http } = this.#options;
    const scope = requestedScope ?? config['oauth.tokenScope'];
    const endpoints = await metadata.endpoints();
    if (endpoints.tokenURL === undefined) throw new ProviderError('bad-answer', 'the provider has no token endpoint');
    const response = await http.request({
      method: 'POST',
      url: endpoints.tokenURL,
      ...this.#message(client, { scope, endpoints }),
      maxBytes,
    });
    return response.status === 200 ? readToken(response, scope) : throwTokenError(response);
  }

  /**
   * Builds the request from known parameters only. It uses HTTP Basic, as RFC 6749 section 2.3.1 prefers, unless the
   * provider supports `client_secret_post` but not Basic.
   */
  #message(
    client: ClientCredentials,
    { scope, endpoints }: { scope: string | undefined; endpoints: ProviderEndpoints },
  ): { headers: Record<string, string>; body: string } {
    const { 'oauth.tokenResource': resource, 'oauth.tokenAudience': audience } = this.#options.config;
    const { clientId, clientSecret } = client;
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scope !== undefined) form.set('scope', scope);
    if (resource !== undefined) form.set('resource', resource);
    if (audience !== undefined) form.set('audience', audience);
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
    if (usesBasic(endpoints)) headers['authorization'] = basicCredentials(clientId, clientSecret);
    else {
      form.set('client_id', clientId);
      form.set('client_secret', clientSecret);
    }
    return { headers, body: form.toString() };
  }
}

function usesBasic({ tokenAuthMethods }: ProviderEndpoints): boolean {
  return tokenAuthMethods.includes('client_secret_basic') || !tokenAuthMethods.includes('client_secret_post');
}

/**
 * Parses a token response.
 * @throws ProviderError when it has no bearer token
 */
function readToken({ body }: ProviderResponse, requestedScope: string | undefined): TokenResponse {
  const { access_token: token, token_type: type, ...rest } = parseProviderResponse(body, where);
  if (typeof token !== 'string' || token === '') throw new ProviderError('bad-answer', `${where}: no access_token`);
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new ProviderError('bad-answer', `${where}: the token is not a bearer token`);
  }
  const seconds = Number(rest['expires_in'] ?? Number.NaN);
  // If the response has no scope, the requested scope was granted (RFC 6749 section 5.1).
  const scope = typeof rest['scope'] === 'string' ? rest['scope'] : requestedScope;
  return {
    access_token: token,
    token_type: 'Bearer',
    ...(Number.isFinite(seconds) ? { expires_in: seconds } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
}

/**
 * Throws the error for a failed request.
 * @throws OAuthError or ProviderError, always
 */
function throwTokenError({ status, body }: ProviderResponse): never {
  if (status === 401) throw new OAuthError('invalid_client');
  if (status < 400 || status === 429 || status >= 500) {
    throw new ProviderError('bad-status', `${where}: responded with ${status}`);
  }
  const { error } = parseProviderResponse(body, where);
  if (notClientErrors.includes(error))
    throw new ProviderError('bad-status', `${where}: responded with ${status} ${error}`);
  // Error codes outside RFC 6749 are not passed on; the client receives `invalid_request`.
  if (isOAuthErrorCode(error)) throw new OAuthError(error);
  throw new OAuthError('invalid_request', 'The identity provider has refused the token request');
}
