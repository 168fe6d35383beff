// The bearer policy: rejects requests without a valid access token that has the scopes of the route (RFC 6750).

import type { Request } from 'express';
import {
  contextOf,
  declarePolicy,
  definePolicy,
  type Policy,
  type RequestContext,
} from '../../gateway/plugin-api/plugin-api.ts';
import type { AccessTokens } from './access-token/access-tokens.ts';
import { InvalidTokenError } from './access-token/invalid-token-error.ts';
import { plainBearerToken, takeBearerToken } from './bearer/bearer-credentials.ts';
import { scopeMissing, toBearerProblem } from './bearer/challenge.ts';
import { describeBearer } from './bearer/describe-bearer.ts';
import { bearerParameters, judgeScopes, missingScopes, scopeAlternatives } from './bearer/required-scopes.ts';
import { withSdkErrorCode } from './bearer/sdk-error-code.ts';
import { ProviderError } from './provider/provider-error.ts';

/** Name, parameters and OpenAPI description of the policy. */
export const bearerDeclaration = declarePolicy({
  name: 'bearer',
  schema: bearerParameters,
  judge: judgeScopes,
  describe: (parameters) =>
    describeBearer((method) => scopeAlternatives(method, parameters), parameters.header !== undefined),
});

/**
 * Creates the policy `bearer`: sets `clientId` and `scopes` of the request's context and removes the token from the
 * request.
 * @throws Problem with a challenge (RFC 6750 section 3): `unauthorized`, `invalid-token` (401), `insufficient-scope`
 *   (403) or `malformed-request` (400); `identity-provider-unavailable` (503) when the token cannot be checked
 */
export function bearerPolicy(accessTokens: AccessTokens): Policy {
  return definePolicy(bearerDeclaration, {
    loadShedding: (parameters) => ({
      check({ request, context }) {
        const token = parameters.header === undefined ? plainBearerToken(request) : undefined;
        const known = token === undefined ? undefined : accessTokens.recall(token);
        if (known === undefined || missingScopes(known.scopes, request.method ?? '', parameters) !== null)
          return 'unsure';
        context.clientId = known.clientId;
      },
    }),
    create: (parameters) => {
      const isForSdks = parameters.header !== undefined;
      const checkToken = async (request: Request) =>
        accessTokens.check(takeBearerToken(request, isForSdks), contextOf(request).clientAddress);
      return async (request, _response, next) => {
        const context = contextOf(request);
        const checked = await checkToken(request).catch((error: unknown) => {
          const problem = toProblemOf(context, error);
          throw isForSdks ? withSdkErrorCode(problem) : problem;
        });
        context.clientId = checked.clientId;
        context.scopes = checked.scopes;
        const missing = missingScopes(checked.scopes, request.method, parameters);
        if (missing !== null) throw scopeMissing(missing);
        next();
      };
    },
  });
}

/** Converts an error to a problem. The reason goes into the access log, not into the response. */
function toProblemOf(context: RequestContext, error: unknown): unknown {
  if (error instanceof InvalidTokenError || error instanceof ProviderError) context.reason = error.message;
  return toBearerProblem(error);
}
