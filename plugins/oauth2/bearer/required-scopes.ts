// Scopes that a route requires, by method, and the check of a token against them.

import { type Static, Type } from 'typebox';
import { isSafeMethod } from '#lib/http/methods.ts';

/** One scope (RFC 6749 section 3.3). */
const scope = Type.String({ pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' });

/** Parameters of the bearer policy. */
export const bearerParameters = Type.Object(
  {
    header: Type.Optional(
      Type.Literal('x-authorization', {
        description: 'header field accepted besides Authorization; a 401 then says `error` as Conductor SDKs expect it',
      }),
    ),
    writeScope: Type.Optional({ ...scope, description: 'needed by every method but GET, HEAD and OPTIONS' }),
    anyScope: Type.Optional(Type.Array(scope, { minItems: 1, description: 'at least one of them is needed' })),
    scopes: Type.Optional(Type.Array(scope, { minItems: 1, description: 'all of them are needed' })),
  },
  { additionalProperties: false },
);

/** Values of the parameters. */
export type BearerParameters = Static<typeof bearerParameters>;

/** Returns the scopes that every request of a method requires. */
function neededBy(method: string, { scopes = [], writeScope }: BearerParameters): readonly string[] {
  return writeScope === undefined || isSafeMethod(method) ? scopes : [...scopes, writeScope];
}

/** Returns alternative lists of scopes for a method; one list suffices. */
export function scopeAlternatives(method: string, parameters: BearerParameters): string[][] {
  const needed = neededBy(method, parameters);
  return parameters.anyScope?.map((one) => [...needed, one]) ?? [[...needed]];
}

/** Returns the scopes that the response names as missing; null when the token suffices. */
export function missingScopes(
  granted: ReadonlySet<string>,
  method: string,
  parameters: BearerParameters,
): readonly string[] | null {
  const { anyScope } = parameters;
  const needed = neededBy(method, parameters);
  if (!needed.every((one) => granted.has(one))) return needed;
  if (anyScope !== undefined && !anyScope.some((one) => granted.has(one))) return anyScope;
  return null;
}
