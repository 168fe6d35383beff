// Configures oidc-provider with client credentials, JWT access tokens (RFC 9068), introspection and revocation.

import type { EventEmitter } from 'node:events';
import Provider, { type AdapterFactory, type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { type DevClient, devClients, devScopes, findDevClient, toClientMetadata } from './clients.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Options of the provider. */
export interface ProviderOptions {
  /** `iss` of every token. */
  issuer: string;
  /** `aud` of every token. */
  audience: string;
  /** Lifetime of a token, in seconds. */
  tokenSeconds: number;
  keys: SigningKeys;
  tokenStore: AdapterFactory;
  log: Logger;
}

/** Default resource of all tokens; clients need not name it (RFC 8707). */
const resource = 'urn:service-router';

/** Creates a provider. Its keys are fixed; a key rotation creates a new provider. */
export function createProvider({ issuer, audience, tokenSeconds, keys, tokenStore, log }: ProviderOptions): Provider {
  const provider = new Provider(issuer, {
    adapter: tokenStore,
    clients: devClients.map(toClientMetadata),
    jwks: structuredClone({ keys: [...keys.keys] }),
    scopes: devScopes,
    responseTypes: [],
    ttl: { ClientCredentials: tokenSeconds },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: (_ctx, client) => devClientOf(client).mayIntrospect },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: (ctx, identifier, client) => {
          if (identifier !== resource && identifier !== audience) throw new errors.InvalidTarget();
          applyScopes(ctx, devClientOf(client));
          return {
            scope: devScopes.join(' '),
            audience,
            accessTokenFormat: devClientOf(client).tokenFormat,
            jwt: { sign: { alg: 'RS256' } },
          };
        },
      },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    renderError: (ctx, out) => {
      ctx.type = 'json';
      ctx.body = out;
    },
  });
  logErrors(provider, log);
  return provider;
}

/**
 * Grants all scopes of the client when the request has no `scope` (a default that RFC 6749 section 3.3 allows), and
 * refuses unknown scopes. The library would grant no scopes by default and ignore unknown ones.
 */
function applyScopes({ oidc }: KoaContextWithOIDC, { scopes }: DevClient): void {
  const params = oidc.params as { scope?: string | undefined };
  params.scope ??= scopes.join(' ');
  const foreign = params.scope.split(' ').find((scope) => !scopes.includes(scope));
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign);
}

function devClientOf(client: Client): DevClient {
  const found = findDevClient(client.clientId);
  if (found === undefined) throw new errors.InvalidClient('client not found');
  return found;
}

function logErrors(provider: Provider, log: Logger): void {
  const warn = (ctx: KoaContextWithOIDC, error: Error) => {
    const { error_description: description, error_detail: detail } = error as errors.OIDCProviderError;
    const request = { method: ctx.method, path: ctx.path, clientId: ctx.oidc.client?.clientId };
    log.warn({ ...request, ...errorFields(error), description, detail }, 'request refused');
  };
  provider.on('grant.error', warn);
  provider.on('introspection.error', warn);
  provider.on('revocation.error', warn);
  provider.on('server_error', (ctx, error) => {
    log.error({ method: ctx.method, path: ctx.path, ...errorFields(error), stack: error.stack }, 'request failed');
  });
  // Without a listener, Koa prints errors to the terminal.
  (provider as EventEmitter).on('error', (error: unknown) => log.error(errorFields(error), 'request failed'));
}
