// The two formats of token requests and responses: OAuth 2 (RFC 6749), and Conductor's `POST /api/token`.

import { Problem } from '#lib/problem/problem.ts';
import { type ClientCredentials, readClientCredentials } from './client-authentication.ts';
import type { TokenResponse } from './client-credentials-grant.ts';
import { parseForm } from './form.ts';
import { OAuthError } from './oauth-error.ts';

/** A parsed token request. */
export interface TokenRequest {
  readonly client: ClientCredentials;
  /** Requested scope; undefined leaves it to the provider. */
  readonly scope: string | undefined;
}

/** A token request before parsing. */
export interface RawTokenRequest {
  /** Value of `Content-Type`. */
  readonly contentType: string | undefined;
  /** Every value of `Authorization`. */
  readonly authorization: readonly string[];
  readonly body: Buffer;
}

/** A response: status, JSON body, additional header fields. */
export interface TokenEndpointResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A format of token requests and responses. */
export interface TokenFormat {
  /**
   * Parses a request.
   * @throws OAuthError or Problem when it is malformed
   */
  read(request: RawTokenRequest): TokenRequest;
  write(token: TokenResponse): TokenEndpointResponse;
  /**
   * Formats an error.
   * @throws Problem in a format that uses problem documents
   */
  refuse(error: OAuthError): TokenEndpointResponse;
}

/** Scope tokens separated by single spaces (RFC 6749 appendix A.4). */
const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * The format of RFC 6749: a form as the request; `{access_token, token_type, expires_in, scope}` or `{error,
 * error_description}` as the response.
 */
export const oauth2Format: TokenFormat = {
  read({ contentType, authorization, body }) {
    if (mediaType(contentType) !== 'application/x-www-form-urlencoded') {
      throw new OAuthError('invalid_request', 'The body must be application/x-www-form-urlencoded');
    }
    const form = parseForm(body);
    const client = readClientCredentials(authorization, form);
    const grantType = form.get('grant_type');
    if (grantType === undefined) throw new OAuthError('invalid_request', 'grant_type is missing');
    if (grantType !== 'client_credentials') throw new OAuthError('unsupported_grant_type');
    const scope = form.get('scope');
    if (scope !== undefined && !scopePattern.test(scope)) throw new OAuthError('invalid_scope');
    return { client, scope };
  },
  write: (token) => ({ status: 200, body: { ...token } }),
  refuse: ({ status, code, message }) => ({
    status,
    body: { error: code, error_description: message },
    // Every 401 names a scheme (RFC 9110 section 15.5.2); this endpoint supports Basic.
    ...(status === 401 ? { headers: { 'www-authenticate': 'Basic realm="service-router", charset="UTF-8"' } } : {}),
  }),
};

/**
 * The format of Conductor's SDKs: `{keyId, keySecret}` as the request; `{token, expires_in}` or a problem document as
 * the response.
 */
export const conductorFormat: TokenFormat = {
  read({ body }) {
    const { keyId, keySecret } = parseKey(body);
    if (typeof keyId !== 'string' || typeof keySecret !== 'string' || keyId === '' || keySecret === '') {
      throw new Problem('malformed-request', { detail: 'The body must be {"keyId": "...", "keySecret": "..."}.' });
    }
    return { client: { clientId: keyId, clientSecret: keySecret }, scope: undefined };
  },
  write: ({ access_token: token, expires_in }) => ({
    status: 200,
    body: { token, ...(expires_in === undefined ? {} : { expires_in }) },
  }),
  refuse(error) {
    if (error.status !== 401) throw new Problem('malformed-request', { detail: `${error.message} (${error.code}).` });
    throw new Problem('invalid-client', { headers: { 'www-authenticate': 'Bearer realm="service-router"' } });
  },
};

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}

function parseKey(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // The parser's message quotes the text, which holds a secret.
    throw new Problem('malformed-request', { detail: 'The body is not JSON.' });
  }
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}
