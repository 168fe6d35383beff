// A realm as a college may have it: names of its own, Keycloak's defaults, an audience and the scopes of the product.

import { signIn } from './admin.ts';
import type { Keycloak } from './start-keycloak.ts';

export interface OwnRealm {
  readonly issuer: string;
  readonly audience: string;
  /** Secrets by client id: `portal` calls routes, `router-workers` works. */
  readonly secrets: Readonly<Record<'portal' | 'router-workers', string>>;
}

const scopes = { portal: 'sisdata_W', 'router-workers': 'conductor_worker' } as const;

/** Creates the realm through the admin API. @throws Error with Keycloak's response */
export async function createOwnRealm({ url, adminPassword }: Keycloak): Promise<OwnRealm> {
  const realm = 'college';
  const audience = 'https://router.college.example';
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
  const response = await fetch(`${url}/admin/realms`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await signIn(url, adminPassword)}`, 'content-type': 'application/json' },
    body: JSON.stringify(representation),
  });
  if (!response.ok) throw new Error(`the realm was not created: ${response.status} ${await response.text()}`);
  return { issuer: `${url}/realms/${realm}`, audience, secrets };
}
