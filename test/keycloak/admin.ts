// What an administrator of the realm does in the tests, through Keycloak's admin API.

import type { Keycloak } from './start-keycloak.ts';

export interface RealmAdmin {
  /** From now on tokens are signed with a new key; the old one stays published. */
  rotateKeys(): Promise<void>;
  /** `at+jwt` (RFC 9068), or Keycloak's usual `JWT`: the `typ` header of the tokens of one client. */
  setTokenType(clientId: string, type: 'at+jwt' | 'JWT'): Promise<void>;
}

/** Signs in as the first administrator. @throws Error that names the call that failed */
export async function administer({ url, adminPassword }: Keycloak): Promise<RealmAdmin> {
  const realm = `${url}/admin/realms/service-router`;
  const token = await signIn(url, adminPassword);
  const send = async <T>(method: string, address: string, body?: unknown): Promise<T> => {
    const response = await fetch(address, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${address} responded with ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  return {
    async rotateKeys() {
      const { id } = await send<{ id: string }>('GET', realm);
      await send('POST', `${realm}/components`, {
        name: `rsa-${crypto.randomUUID()}`,
        providerId: 'rsa-generated',
        providerType: 'org.keycloak.keys.KeyProvider',
        parentId: id,
        config: { priority: ['1000'], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] },
      });
    },
    async setTokenType(clientId, type) {
      type Client = { id: string; attributes: Record<string, string> };
      const [client] = await send<Client[]>('GET', `${realm}/clients?clientId=${clientId}`);
      if (client === undefined) throw new Error(`the realm has no client ${clientId}`);
      const attributes = { ...client.attributes, 'access.token.header.type.rfc9068': String(type === 'at+jwt') };
      await send('PUT', `${realm}/clients/${client.id}`, { ...client, attributes });
    },
  };
}

/** Returns an access token of the first administrator. */
export async function signIn(url: string, password: string): Promise<string> {
  const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', username: 'admin', password }),
  });
  if (!response.ok) throw new Error(`the administrator was not signed in: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}
