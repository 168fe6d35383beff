// OpenAPI description of the token policy, in both of its formats.

import type { PolicyDescription } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { Response, Schema } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { oauthErrors } from './oauth-error.ts';

/** RFC 6749 section 5.1 requires both fields on responses with a token. */
const headers = { 'Cache-Control': headerRef('CacheControl'), Pragma: headerRef('Pragma') };
const problems: readonly ProblemCode[] = [
  'malformed-request',
  'body-too-large',
  'too-many-requests',
  'identity-provider-unavailable',
];
const text = (description: string): Schema => ({ type: 'string', description });
const seconds: Schema = { type: 'integer', description: 'Lifetime of the token in seconds.' };

const tokenRequest: Schema = {
  type: 'object',
  required: ['grant_type'],
  properties: {
    grant_type: { const: 'client_credentials' },
    client_id: text('Id of the client; required unless `Authorization: Basic` contains the id and the secret.'),
    client_secret: text('Secret of the client; must be absent when `Authorization` is sent.'),
    scope: text(
      'Requested scopes, separated by spaces; when absent, the router or the identity provider chooses the scopes.',
    ),
  },
};
const tokenResponse: Schema = {
  type: 'object',
  required: ['access_token', 'token_type'],
  properties: {
    access_token: text('Access token, to be sent as `Authorization: Bearer …`.'),
    token_type: text('`Bearer`.'),
    expires_in: seconds,
    scope: text('The granted scopes, separated by spaces.'),
  },
};

/** The format of RFC 6749: a form as the request, a token or an error of section 5.2 as the response. */
export const describeOAuth2Token: PolicyDescription = {
  operation: () => ({
    problems,
    tokenEndpoint: true,
    security: [{ [schemes.client]: [] }, {}],
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': {
          schema: { $ref: '#/components/schemas/TokenRequest' },
          example: { grant_type: 'client_credentials' },
        },
      },
    },
    responses: {
      200: json('An access token.', { $ref: '#/components/schemas/TokenResponse' }),
      400: json('The request was refused (RFC 6749 section 5.2).', oauthErrorSchema(400)),
      401: json('The client is not known, or its secret is wrong.', oauthErrorSchema(401), {
        'WWW-Authenticate': headerRef('WWWAuthenticate'),
      }),
    },
    components: { schemas: { TokenRequest: tokenRequest, TokenResponse: tokenResponse } },
  }),
};

/**
 * The format of Conductor's SDKs: `{keyId, keySecret}` as the request, a token or a problem document as the response.
 */
export const describeConductorToken: PolicyDescription = {
  operation: () => ({
    problems: [...problems, 'invalid-client'],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/ConductorKey' } } },
    },
    responses: { 200: json('An access token.', { $ref: '#/components/schemas/ConductorToken' }) },
    components: {
      schemas: {
        ConductorKey: {
          type: 'object',
          required: ['keyId', 'keySecret'],
          properties: { keyId: text('Id of the OAuth client.'), keySecret: text('Secret of the OAuth client.') },
        },
        ConductorToken: {
          type: 'object',
          required: ['token'],
          properties: { token: text('Access token, to be sent as `X-Authorization`.'), expires_in: seconds },
        },
      },
    },
  }),
};

function json(description: string, schema: Schema, more: Response['headers'] = {}): Response {
  return { description, headers: { ...headers, ...more }, content: { 'application/json': { schema } } };
}

/** Returns the schema of the error responses with this status. */
function oauthErrorSchema(status: number): Schema {
  const codes = Object.entries(oauthErrors).filter(([, error]) => error.status === status);
  return {
    type: 'object',
    required: ['error', 'error_description'],
    properties: {
      error: { enum: codes.map(([code]) => code) },
      error_description: text('What was wrong, in a sentence.'),
    },
  };
}
