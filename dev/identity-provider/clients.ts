// The OAuth clients of the embedded stack. Their secrets are public: this provider refuses to run in production.

import type { ClientMetadata } from 'oidc-provider';

/** Who may ask for a token, and for which scopes. */
export interface DevClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Every scope the client may have; it gets all of them when it asks for none. */
  readonly scopes: readonly string[];
  /** `jwt` (RFC 9068), or `opaque`: a reference that only introspection explains. */
  readonly tokenFormat: 'jwt' | 'opaque';
  /** May ask what any token means (RFC 7662). */
  readonly mayIntrospect: boolean;
}

/** The clients of `npm start`, plus the two that tests of opaque tokens need. */
export const devClients: readonly DevClient[] = [
  createDevClient('demo', { scopes: ['sisdata_W'] }),
  createDevClient('reader', { scopes: ['sisdata_R'] }),
  createDevClient('worker', { scopes: ['conductor_worker'] }),
  createDevClient('ops', { scopes: ['conductor_admin'] }),
  createDevClient('opaque', { scopes: ['sisdata_W'], tokenFormat: 'opaque' }),
  createDevClient('introspector', { mayIntrospect: true }),
];

/** Every scope this provider knows. */
export const devScopes: readonly string[] = [...new Set(devClients.flatMap((client) => client.scopes))];

/** The client of an id. */
export function findDevClient(clientId: string): DevClient | undefined {
  return devClients.find((client) => client.clientId === clientId);
}

/** A client as oidc-provider registers it. Either of client_secret_basic and client_secret_post is accepted. */
export function toClientMetadata(client: DevClient): ClientMetadata {
  return {
    client_id: client.clientId,
    client_secret: client.clientSecret,
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: client.scopes.length > 0 ? ['client_credentials'] : [],
    response_types: [],
    redirect_uris: [],
    ...(client.scopes.length > 0 ? { scope: client.scopes.join(' ') } : {}),
  };
}

function createDevClient(name: string, options: Partial<DevClient>): DevClient {
  return {
    clientId: name,
    clientSecret: `${name}-secret`,
    scopes: [],
    tokenFormat: 'jwt',
    mayIntrospect: false,
    ...options,
  };
}
