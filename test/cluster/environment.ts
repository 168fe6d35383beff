// The configuration of the cluster's programs: that of docker-compose.yml, with this run's addresses.

import type { Keycloak } from '../keycloak/start-keycloak.ts';

/** Of the stand-ins; college 002 has workers of its own. */
export function backEndAddresses(url: string): Record<string, string> {
  return {
    ADAPTOR_001_URL: `${url}/adaptors/001`,
    ADAPTOR_002_URL: `${url}/adaptors/002`,
    ADAPTOR_002_DOMAIN: '002',
    LMSDW_URL: `${url}/lms-dw`,
    MOVIES_URL: `${url}/movies`,
    MDM_URL: `${url}/mdm`,
  };
}

/** Of both routers, without their ports. */
export function routerEnvironment(options: {
  readonly engineUrls: readonly string[];
  readonly keycloak: Pick<Keycloak, 'issuer'>;
  readonly redisUrl: string;
  readonly budgetMs: number;
}): Record<string, string> {
  const { engineUrls, keycloak, redisUrl, budgetMs } = options;
  const endpoints = `${keycloak.issuer}/protocol/openid-connect`;
  return {
    NODE_ENV: 'production',
    PRODUCTION_ACCEPTS: 'http-issuer',
    CONDUCTOR_URL: engineUrls.join(','),
    REDIS_URL: redisUrl,
    LIMITS_STORE: 'redis',
    OAUTH_ISSUER: keycloak.issuer,
    OAUTH_AUDIENCE: 'urn:service-router',
    OAUTH_JWKSURL: `${endpoints}/certs`,
    OAUTH_TOKENURL: `${endpoints}/token`,
    ROUTER_TRUSTEDPROXIES: '127.0.0.1',
    ROUTER_RESPONSEDEADLINEMS: String(budgetMs),
    // A run cannot wait for minutes.
    RECONCILER_INTERVALMS: '3000',
    RECONCILER_AFTERMS: '10000',
  };
}

/** Of all workers; they reach the engine through the load balancer and a router. */
export function workersEnvironment(routerUrl: string, clientSecret: string): Record<string, string> {
  return {
    CONDUCTOR_APIURL: `${routerUrl}/conductor/api`,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: clientSecret,
  };
}
