// Which scopes a route asks for, by method, and which of them are missing.

import { type Static, Type } from 'typebox';

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

export type BearerParameters = Static<typeof bearerParameters>;

const readMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** The scopes that every request of a method needs. */
function neededBy(method: string, { scopes = [], writeScope }: BearerParameters): readonly string[] {
  return writeScope === undefined || readMethods.includes(method) ? scopes : [...scopes, writeScope];
}

/** Lists of scopes, any one of which is enough for a method. */
export function scopeAlternatives(method: string, parameters: BearerParameters): string[][] {
  const needed = neededBy(method, parameters);
  return parameters.anyScope?.map((one) => [...needed, one]) ?? [[...needed]];
}

/** What the token lacks: the scopes that the answer names; null when it may pass. */
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
