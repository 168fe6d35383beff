// Builds the security schemes of the document from the requirements of the policies.

import type { Described } from './description.ts';

/** Names of the security schemes, to which policies refer. */
export const schemes = {
  accessToken: 'accessToken',
  otherHeader: 'conductorToken',
  client: 'clientCredentials',
} as const;

/**
 * Returns `components.securitySchemes`. Without a token endpoint in the route table, the scheme is a plain bearer
 * token.
 */
export function securitySchemes(operations: readonly Described[]): Record<string, unknown> {
  const tokenUrl = operations.find(({ descriptions }) => descriptions.some(({ tokenEndpoint }) => tokenEndpoint))?.path;
  const flows = { clientCredentials: { tokenUrl, scopes: scopesOf(operations) } };
  return {
    [schemes.accessToken]:
      tokenUrl === undefined
        ? { type: 'http', scheme: 'bearer', description: 'An access token of the identity provider (RFC 6750).' }
        : { type: 'oauth2', description: 'Client credentials (RFC 6749 section 4.4), sent as a bearer token.', flows },
    [schemes.otherHeader]: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Authorization',
      description: 'The same access token, in the header field that Conductor SDKs use.',
    },
    [schemes.client]: {
      type: 'http',
      scheme: 'basic',
      description:
        'Client id and secret on the token path, each form-encoded (RFC 6749 section 2.3.1); or both in the body.',
    },
  };
}

/** Returns each scope with the endpoints that require it. */
function scopesOf(operations: readonly Described[]): Record<string, string> {
  const uses = new Map<string, Set<string>>();
  for (const { tag, method, operation, descriptions } of operations) {
    const security = operation.security ?? descriptions.flatMap(({ security: requirements = [] }) => requirements);
    for (const scope of security.flatMap((requirement) => requirement[schemes.accessToken] ?? []))
      uses.set(scope, (uses.get(scope) ?? new Set()).add(`${method} on ${tag}`));
  }
  return Object.fromEntries([...uses].map(([scope, users]) => [scope, `Required for ${[...users].join(', ')}`]));
}
