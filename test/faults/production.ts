// Provides the production profile for the stack of a fault case (world.ts): Keycloak as identity provider, and the
// settings of docker-compose.yml.

import { findJava } from '../../dev/engine/find-java.ts';
import { cacheFolder, isStamped } from '../../dev/engine/jar.ts';
import { hasMaven } from '../../dev/engine/maven.ts';
import { join } from 'node:path';
import { keycloakRelease } from '../keycloak/release.ts';
import { type Keycloak, startKeycloak } from '../keycloak/start-keycloak.ts';

export interface Production {
  readonly keycloak: Keycloak;
  /** Secrets by client. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly router: Readonly<Record<string, string>>;
  readonly workers: Readonly<Record<string, string>>;
}

const clients = ['demo', 'reader', 'worker', 'ops'];

/** Returns a requirement of the case that this machine does not meet; undefined when it meets all of them. */
export async function missingForProduction(): Promise<string | undefined> {
  const { java } = await findJava({ minMajor: keycloakRelease.minJava });
  if (java === undefined) return `needs Java ${keycloakRelease.minJava} or newer`;
  const isCached = await isStamped(join(cacheFolder(), keycloakRelease.fileName), keycloakRelease);
  return isCached || (await hasMaven(process.env)) ? undefined : 'needs Maven, which fetches Keycloak';
}

/** Starts Keycloak with the realm of `deploy/` and new secrets. */
export async function startProduction(): Promise<Production> {
  const secrets = Object.fromEntries(clients.map((client) => [client, crypto.randomUUID()]));
  const placeholders = clients.map((client) => [`${client.toUpperCase()}_CLIENT_SECRET`, secrets[client] as string]);
  const keycloak = await startKeycloak(Object.fromEntries(placeholders));
  const endpoints = `${keycloak.issuer}/protocol/openid-connect`;
  return {
    ...{ keycloak, secrets },
    router: {
      NODE_ENV: 'production',
      PRODUCTION_ACCEPTS: 'http-issuer',
      LIMITS_STORE: 'redis',
      OAUTH_ISSUER: keycloak.issuer,
      OAUTH_AUDIENCE: 'urn:service-router',
      OAUTH_JWKSURL: `${endpoints}/certs`,
      OAUTH_TOKENURL: `${endpoints}/token`,
    },
    workers: { WORKERS_CLIENTSECRET: secrets['worker'] as string },
  };
}
