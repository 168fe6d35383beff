// Asks the identity provider for a token with the client's own credentials (RFC 6749 section 4.4).

import type { Config } from '#lib/config/schema.ts';
import { basicCredentials } from '../provider/basic-credentials.ts';
import { ProviderError } from '../provider/provider-error.ts';
import { parseJsonObject, type ProviderAnswer, type ProviderHttp } from '../provider/provider-http.ts';
import type { ProviderEndpoints, ProviderMetadata } from '../provider/provider-metadata.ts';
import type { ClientCredentials } from './client-authentication.ts';
import { isOAuthErrorCode, OAuthError } from './oauth-error.ts';

/** A token as the token endpoint answers it (RFC 6749 section 5.1). */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Seconds. */
  readonly expires_in?: number;
  readonly scope?: string;
}

export interface ClientCredentialsGrantOptions {
  config: Pick<Config, 'oauth.tokenResource' | 'oauth.tokenAudience'>;
  metadata: ProviderMetadata;
  http: ProviderHttp;
}

const maxBytes = 65_536;
const where = 'token endpoint';
/** Errors that no client can mend; `invalid_target` (RFC 8707 section 2) is about our own `oauth.tokenResource`. */
const notTheClients: readonly unknown[] = ['server_error', 'temporarily_unavailable', 'invalid_target'];

export class ClientCredentialsGrant {
  readonly #options: ClientCredentialsGrantOptions;

  constructor(options: ClientCredentialsGrantOptions) {
    this.#options = options;
  }

  /**
   * @param scope as the client asked; undefined leaves it to the provider
   * @throws OAuthError when the provider refuses
   * @throws ProviderError when it gives no usable answer
   */
  async request(client: ClientCredentials, scope: string | undefined): Promise<TokenResponse> {
    const { metadata, http } = this.#options;
    const endpoints = await metadata.endpoints();
    if (endpoints.tokenURL === undefined) throw new ProviderError('bad-answer', 'the provider has no token endpoint');
    const answer = await http.request({
      method: 'POST',
      url: endpoints.tokenURL,
      ...this.#message(client, { scope, endpoints }),
      maxBytes,
    });
    return answer.status === 200 ? readToken(answer, scope) : refuse(answer);
  }

  /** Only what we know is passed on; Basic when the provider takes it, as RFC 6749 section 2.3.1 prefers. */
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

/** @throws ProviderError when the answer holds no bearer token */
function readToken({ body }: ProviderAnswer, requestedScope: string | undefined): TokenResponse {
  const { access_token: token, token_type: type, ...rest } = parseJsonObject(body, where);
  if (typeof token !== 'string' || token === '') throw new ProviderError('bad-answer', `${where}: no access_token`);
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new ProviderError('bad-answer', `${where}: the token is not a bearer token`);
  }
  const seconds = Number(rest['expires_in'] ?? Number.NaN);
  // Left out, it is what was asked for (RFC 6749 section 5.1).
  const scope = typeof rest['scope'] === 'string' ? rest['scope'] : requestedScope;
  return {
    access_token: token,
    token_type: 'Bearer',
    ...(Number.isFinite(seconds) ? { expires_in: seconds } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** @throws OAuthError or ProviderError, always */
function refuse({ status, body }: ProviderAnswer): never {
  if (status === 401) throw new OAuthError('invalid_client');
  if (status < 400 || status === 429 || status >= 500) {
    throw new ProviderError('bad-status', `${where}: answered ${status}`);
  }
  const { error } = parseJsonObject(body, where);
  if (notTheClients.includes(error)) throw new ProviderError('bad-status', `${where}: answered ${status} ${error}`);
  // What the provider says beyond RFC 6749 is its own affair: the request was not one it takes.
  throw new OAuthError(isOAuthErrorCode(error) ? error : 'invalid_request');
}
