// The bearer policy: no valid access token with the scopes of the route, no way through (RFC 6750).

import type { Request } from 'express';
import { type Static, Type } from 'typebox';
import { contextOf, definePolicy, type Policy, type RequestContext } from '../../gateway/contract.ts';
import type { AccessTokens } from './access-token/access-tokens.ts';
import { InvalidTokenError } from './access-token/invalid-token-error.ts';
import { takeBearerToken } from './bearer/bearer-credentials.ts';
import { scopeMissing, toBearerProblem } from './bearer/challenge.ts';
import { describeBearer } from './bearer/describe-bearer.ts';
import { ProviderError } from './provider/provider-error.ts';

/** One scope (RFC 6749 section 3.3). */
const scope = Type.String({ pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' });

const parameters = Type.Object(
  {
    header: Type.Optional(
      Type.Literal('x-authorization', { description: 'header field accepted besides Authorization' }),
    ),
    writeScope: Type.Optional({ ...scope, description: 'needed by every method but GET, HEAD and OPTIONS' }),
    anyScope: Type.Optional(Type.Array(scope, { minItems: 1, description: 'at least one of them is needed' })),
    scopes: Type.Optional(Type.Array(scope, { minItems: 1, description: 'all of them are needed' })),
  },
  { additionalProperties: false },
);

type Parameters = Static<typeof parameters>;

const readMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** The policy `bearer`: sets `clientId` and `scopes` of the request's context and removes the token from the request. */
export function bearerPolicy(accessTokens: AccessTokens): Policy {
  return definePolicy({
    name: 'bearer',
    schema: parameters,
    create: (parameters) => async (request, _response, next) => {
      const context = contextOf(request);
      const token = takeBearerToken(request, parameters.header !== undefined);
      const checked = await accessTokens.check(token).catch((error: unknown) => refuse(context, error));
      context.clientId = checked.clientId;
      context.scopes = checked.scopes;
      checkScopes(checked.scopes, request, parameters);
      next();
    },
    describe: (parameters) =>
      describeBearer((method) => alternativesFor(method, parameters), parameters.header !== undefined),
  });
}

/** The log line of the request learns the reason; the caller does not. */
function refuse(context: RequestContext, error: unknown): never {
  if (error instanceof InvalidTokenError || error instanceof ProviderError) context.reason = error.message;
  throw toBearerProblem(error);
}

/** The scopes that every request of a method needs. */
function neededBy(method: string, { scopes = [], writeScope }: Parameters): readonly string[] {
  return writeScope === undefined || readMethods.includes(method) ? scopes : [...scopes, writeScope];
}

function alternativesFor(method: string, parameters: Parameters): string[][] {
  const needed = neededBy(method, parameters);
  return parameters.anyScope?.map((one) => [...needed, one]) ?? [[...needed]];
}

function checkScopes(granted: ReadonlySet<string>, { method }: Request, parameters: Parameters): void {
  const { anyScope } = parameters;
  const needed = neededBy(method, parameters);
  const hasAny = anyScope === undefined || anyScope.some((one) => granted.has(one));
  if (!needed.every((one) => granted.has(one))) throw scopeMissing(needed);
  if (!hasAny) throw scopeMissing(anyScope);
}
