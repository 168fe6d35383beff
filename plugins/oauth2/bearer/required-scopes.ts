// Determines the scopes that a route requires for a method, and checks a token's scopes against them.

import { type Static, Type } from '#lib/json/json-schema.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import type { PlannedRequest, Refusal } from '../../../gateway/plugin-api/plugin-api.ts';

/** One scope (RFC 6749 section 3.3). */
const scope = Type.String({ pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$' });

/** Parameters of the bearer policy. */
export const bearerParameters = Type.Object(
  {
    header: Type.Optional(
      Type.Literal('x-authorization', {
        description:
          'header field that is accepted besides `Authorization`; 401 responses then have the member `error` that Conductor SDKs expect',
      }),
    ),
    writeScope: Type.Optional({ ...scope, description: 'scope that every method but GET, HEAD and OPTIONS requires' }),
    anyScope: Type.Optional(Type.Array(scope, { minItems: 1, description: 'scopes of which one is required' })),
    scopes: Type.Optional(Type.Array(scope, { minItems: 1, description: 'scopes that are all required' })),
  },
  {
    additionalProperties: false,
    description:
      'Requires a valid access token (RFC 6750) with the scopes of the route. Without parameters, any valid token is accepted. Policies after it know the client, and the back end does not receive the token.',
    examples: [
      { scopes: ['openid'], writeScope: 'sisdata_W' },
      { header: 'x-authorization', anyScope: ['conductor_worker', 'conductor_admin'] },
    ],
  },
);

/** Values of the parameters. */
type BearerParameters = Static<typeof bearerParameters>;

/** Returns the scopes that every request of a method requires. */
function neededBy(method: string, { scopes = [], writeScope }: BearerParameters): readonly string[] {
  return writeScope === undefined || isSafeMethod(method) ? scopes : [...scopes, writeScope];
}

/** Returns alternative lists of scopes for a method; the scopes of one list suffice. */
export function scopeAlternatives(method: string, parameters: BearerParameters): string[][] {
  const needed = neededBy(method, parameters);
  return parameters.anyScope?.map((one) => [...needed, one]) ?? [[...needed]];
}

/** Scopes that a response names as missing. */
export interface MissingScopes {
  readonly scopes: readonly string[];
  /** True when one of the scopes suffices. */
  readonly oneSuffices: boolean;
}

/** Returns the scopes that the response names as missing; null when the token suffices. */
export function missingScopes(
  granted: ReadonlySet<string>,
  method: string,
  parameters: BearerParameters,
): MissingScopes | null {
  const { anyScope } = parameters;
  const needed = neededBy(method, parameters);
  if (!needed.every((one) => granted.has(one))) return { scopes: needed, oneSuffices: false };
  if (anyScope !== undefined && !anyScope.some((one) => granted.has(one)))
    return { scopes: anyScope, oneSuffices: true };
  return null;
}

/** Returns the scopes as text: `one of orders:read, orders:write`. */
export function wordsOf({ scopes, oneSuffices }: MissingScopes): string {
  return `${oneSuffices ? 'one of ' : ''}${scopes.join(', ')}`;
}

/** Returns why a request with these scopes is refused; undefined when they suffice. */
export function judgeScopes(
  parameters: BearerParameters,
  { scopes, method }: Pick<PlannedRequest, 'scopes' | 'method'>,
): Refusal | undefined {
  const missing = missingScopes(scopes, method, parameters);
  if (missing === null) return undefined;
  return { status: 403, reason: `needs ${wordsOf(missing)}; the token has ${[...scopes].join(' ') || 'no scope'}` };
}
