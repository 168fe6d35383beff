// The OAuth clients of the development stack. Their secrets are public, so the provider refuses to run in production.

import type { ClientMetadata } from 'oidc-provider';

/** An OAuth client. */
export interface DevClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes that the client may have; it gets all of them when it requests none. */
  readonly scopes: readonly string[];
  /** `jwt` (RFC 9068), or `opaque`: a reference token that needs introspection. */
  readonly tokenFormat: 'jwt' | 'opaque';
  /** Whether the client may introspect tokens (RFC 7662). */
  readonly mayIntrospect: boolean;
}

/** The clients of `npm start`, and two clients for tests of opaque tokens. */
export const devClients: readonly DevClient[] = [
  createDevClient('demo', { scopes: ['sisdata_W'] }),
  createDevClient('reader', { scopes: ['sisdata_R'] }),
  createDevClient('worker', { scopes: ['conductor_worker'] }),
  createDevClient('ops', { scopes: ['conductor_admin'] }),
  createDevClient('opaque', { scopes: ['sisdata_W'], tokenFormat: 'opaque' }),
  createDevClient('introspector', { mayIntrospect: true }),
];

/** All scopes of the provider. */
export const devScopes: readonly string[] = [...new Set(devClients.flatMap((client) => client.scopes))];

/** Returns the client with this id, if any. */
export function findDevClient(clientId: string): DevClient | undefined {
  return devClients.find((client) => client.clientId === clientId);
}

/** Returns the metadata of a client for oidc-provider, which accepts client_secret_basic and client_secret_post. */
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
