// What the bearer policy says of itself in the OpenAPI document.

import type { PolicyDescription } from '#lib/openapi/description.ts';
import type { SecurityRequirement } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';

/** @param scopesFor alternatives: lists of scopes, any one of which is enough for a method */
export function describeBearer(
  scopesFor: (method: string) => readonly (readonly string[])[],
  acceptsOtherHeader: boolean,
): PolicyDescription {
  return {
    operation({ method }) {
      const alternatives = scopesFor(method);
      const security = alternatives.flatMap((scopes): SecurityRequirement[] => [
        { [schemes.accessToken]: scopes },
        ...(acceptsOtherHeader ? [{ [schemes.otherHeader]: scopes }] : []),
      ]);
      const scopeNeeded = alternatives.every((scopes) => scopes.length > 0);
      return {
        problems: [
          'malformed-request',
          'unauthorized',
          'invalid-token',
          'identity-provider-unavailable',
          ...(scopeNeeded ? (['insufficient-scope'] as const) : []),
        ],
        security,
      };
    },
  };
}
