// The token policy: exchanges a client's credentials for an access token of the identity provider (RFC 6749 section
// 4.4).

import type { Request, Response } from 'express';
import { type Static, Type } from '#lib/json/json-schema.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { readBody } from '../../gateway/plugin-api/read-body.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { OAuthMetrics } from './metrics.ts';
import { ProviderError } from './provider/provider-error.ts';
import { takeHeader } from './take-header.ts';
import { type AttemptLimit, TooManyAttemptsError } from './token/attempt-limit.ts';
import type { ClientCredentialsGrant, TokenResponse } from './token/client-credentials-grant.ts';
import { describeConductorToken, describeOAuth2Token } from './token/describe-token.ts';
import { OAuthError } from './token/oauth-error.ts';
import {
  conductorFormat,
  oauth2Format,
  type TokenEndpointResponse,
  type TokenFormat,
  type TokenRequest,
} from './token/token-format.ts';

const attempts = (description: string, value: number) =>
  Type.Optional(Type.Integer({ minimum: 1, default: value, description: `${description} (attempts a minute)` }));

const parameters = Type.Object(
  {
    format: Type.Optional(
      Type.Enum(['oauth2', 'conductor'], {
        default: 'oauth2',
        description:
          'format of the request and the response: `oauth2` = as in RFC 6749; `conductor` = as Conductor SDKs send and expect them',
      }),
    ),
    maxFailuresPerClient: attempts('limit on wrong secrets from one address for one client', 10),
    maxFailuresPerAddress: attempts('limit on wrong secrets from one address', 100),
  },
  {
    additionalProperties: false,
    description:
      'A token endpoint for the client credentials grant (RFC 6749 section 4.4). It gets the access token from the identity provider and accepts only POST.',
    examples: [{ format: 'conductor', maxFailuresPerClient: 5, maxFailuresPerAddress: 50 }],
  },
);

type Parameters = Static<typeof parameters>;

/** The dependencies of {@link tokenPolicy}. */
export interface TokenPolicyDependencies {
  grant: ClientCredentialsGrant;
  limit: AttemptLimit;
  metrics: OAuthMetrics;
}

const maxBodyBytes = 16_384;
const retryAfterSeconds = '5';

/** Name, parameters and OpenAPI description of the policy. */
export const tokenDeclaration = declarePolicy({
  name: 'token',
  schema: parameters,
  alwaysResponds: true,
  describe: ({ format }) => (format === 'conductor' ? describeConductorToken : describeOAuth2Token),
});

/**
 * Creates the policy `token`, the last policy in its pipeline: a token endpoint for the client credentials grant
 * (RFC 6749 sections 3.2 and 4.4). It accepts only POST (section 3.2).
 * @throws Problem `method-not-allowed`, `too-many-requests`, `body-too-large` or `identity-provider-unavailable`
 */
export function tokenPolicy(dependencies: TokenPolicyDependencies): Policy {
  return definePolicy(tokenDeclaration, {
    create: (parameters) => {
      const format = parameters.format === 'conductor' ? conductorFormat : oauth2Format;
      return async (request, response) => {
        // RFC 6749 section 5.1 requires both fields on responses with a token; here, problem documents have them too.
        response.setHeader('cache-control', 'no-store');
        response.setHeader('pragma', 'no-cache');
        if (request.method !== 'POST') throw new Problem('method-not-allowed', { headers: { allow: 'POST' } });
        send(response, await respond(request, format, { ...dependencies, parameters }));
      };
    },
  });
}

async function respond(
  request: Request,
  format: TokenFormat,
  dependencies: TokenPolicyDependencies & { parameters: Parameters },
): Promise<TokenEndpointResponse> {
  const { tokenRequests } = dependencies.metrics;
  try {
    const authorization = takeHeader(request, 'authorization');
    // The body is read as it was sent: a compressed body is rejected, not decompressed.
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      throw new OAuthError('invalid_request', 'The body must not be compressed');
    const body = await readBody(request, maxBodyBytes);
    const tokenRequest = format.read({ contentType: request.headers['content-type'], authorization, body });
    const token = await issue(request, tokenRequest, dependencies);
    tokenRequests.inc({ result: 'issued' });
    return format.write(token);
  } catch (error) {
    tokenRequests.inc({ result: resultOf(error) });
    if (error instanceof OAuthError) {
      contextOf(request).reason = `${error.code}: ${error.message}`;
      return format.refuse(error);
    }
    if (error instanceof ProviderError) contextOf(request).reason = error.message;
    throw toTokenProblem(error);
  }
}

async function issue(
  request: Request,
  { client, scope }: TokenRequest,
  { grant, limit, parameters }: TokenPolicyDependencies & { parameters: Parameters },
): Promise<TokenResponse> {
  const { maxFailuresPerClient: perClient = 10, maxFailuresPerAddress: perAddress = 100 } = parameters;
  const { clientId } = client;
  const context = contextOf(request);
  const attempt = { address: context.clientAddress, clientId, limits: { perClient, perAddress } };
  const token = await limit.run(attempt, () => grant.request(client, scope), isWrongSecret);
  context.clientId = clientId;
  return token;
}

function isWrongSecret(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'invalid_client';
}

/**
 * Errors without a code in RFC 6749 become problem documents. Their member `error` serves OAuth clients that read
 * nothing else.
 */
function toTokenProblem(error: unknown): unknown {
  const extensions = { error: 'temporarily_unavailable' };
  if (error instanceof TooManyAttemptsError) {
    const headers = { 'retry-after': String(error.retryAfterSeconds) };
    return new Problem('too-many-requests', { detail: 'Too many failed attempts.', extensions, headers });
  }
  if (error instanceof ProviderError) {
    const headers = { 'retry-after': retryAfterSeconds };
    return new Problem('identity-provider-unavailable', { extensions, headers, cause: error });
  }
  return error;
}

function resultOf(error: unknown): string {
  if (error instanceof OAuthError) return error.code;
  if (error instanceof TooManyAttemptsError) return 'limited';
  if (error instanceof ProviderError) return 'unavailable';
  return error instanceof Problem ? 'invalid_request' : 'error';
}

function send(response: Response, { status, body, headers }: TokenEndpointResponse): void {
  const text = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': text.length });
  response.end(text);
}
