// OpenAPI description of the bearer policy.

import type { PolicyDescription } from '#lib/openapi/description.ts';
import type { SecurityRequirement } from '#lib/openapi/openapi.ts';
import { schemes } from '#lib/openapi/security-schemes.ts';

/**
 * Describes the policy.
 * @param scopesFor returns alternative lists of scopes for a method; the scopes of one list suffice
 */
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
