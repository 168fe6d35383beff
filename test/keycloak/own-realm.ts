// A realm as a college might set it up: its own names and audience, Keycloak's defaults, and the product's scopes.

import { signIn } from './admin.ts';
import type { Keycloak } from './start-keycloak.ts';

const scopes = { portal: 'sisdata_W', 'router-workers': 'conductor_worker' } as const;

/** Creates the realm through the admin API. @throws Error with Keycloak's response */
export async function createOwnRealm(keycloak: Keycloak) {
  const realm = 'college';
  const audience = 'https://router.college.example';
  /** Secrets by client id: `portal` calls routes, `router-workers` is for workers. */
  const secrets = { portal: crypto.randomUUID(), 'router-workers': crypto.randomUUID() };
  const representation = {
    ...{ realm, enabled: true },
    clientScopes: [
      ...Object.values(scopes).map((name) => ({
        ...{ name, protocol: 'openid-connect' },
        attributes: { 'include.in.token.scope': 'true' },
      })),
      {
        ...{ name: 'router', protocol: 'openid-connect', attributes: { 'include.in.token.scope': 'false' } },
        protocolMappers: [
          {
            ...{ name: 'audience', protocol: 'openid-connect', protocolMapper: 'oidc-audience-mapper' },
            config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
          },
        ],
      },
    ],
    clients: Object.entries(scopes).map(([clientId, scope]) => ({
      ...{ clientId, secret: secrets[clientId as keyof typeof secrets], protocol: 'openid-connect' },
      ...{ publicClient: false, serviceAccountsEnabled: true, standardFlowEnabled: false },
      defaultClientScopes: ['router', scope],
    })),
  };
  const call = await signIn(keycloak);
  await call('POST', '/realms', representation);
  return { issuer: `${keycloak.url}/realms/${realm}`, audience, secrets };
}

export type OwnRealm = Awaited<ReturnType<typeof createOwnRealm>>;
