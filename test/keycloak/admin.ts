// A client of Keycloak's admin API, and the actions that tests perform as an administrator of the product's realm.

import type { Keycloak } from './start-keycloak.ts';

/** Calls Keycloak's admin API at a path below `/admin`. @throws Error with Keycloak's response when it fails */
export type AdminCall = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** Signs in as the bootstrap administrator. */
export async function signIn({ url, adminPassword: password }: Keycloak): Promise<AdminCall> {
  const credentials = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password };
  const address = `${url}/realms/master/protocol/openid-connect/token`;
  const { access_token: token } = await send<{ access_token: string }>(address, {
    method: 'POST',
    body: new URLSearchParams(credentials),
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return (method, path, body) =>
    send(`${url}/admin${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

async function send<T>(address: string, init: RequestInit): Promise<T> {
  const response = await fetch(address, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${init.method} ${address} responded with ${response.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Returns the actions of an administrator of the realm. */
export async function administer(keycloak: Keycloak) {
  const call = await signIn(keycloak);
  const realm = '/realms/service-router';
  return {
    /** Adds a new key that signs tokens from now on; the old key stays published. */
    async rotateKeys() {
      const { id } = await call<{ id: string }>('GET', realm);
      await call('POST', `${realm}/components`, {
        name: `rsa-${crypto.randomUUID()}`,
        providerId: 'rsa-generated',
        providerType: 'org.keycloak.keys.KeyProvider',
        parentId: id,
        config: { priority: ['1000'], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] },
      });
    },
    /** Sets the `typ` header of one client's tokens: `at+jwt` (RFC 9068), or Keycloak's default `JWT`. */
    async setTokenType(clientId: string, type: 'at+jwt' | 'JWT') {
      type Client = { id: string; attributes: Record<string, string> };
      const [client] = await call<Client[]>('GET', `${realm}/clients?clientId=${clientId}`);
      if (client === undefined) throw new Error(`the realm has no client ${clientId}`);
      const attributes = { ...client.attributes, 'access.token.header.type.rfc9068': String(type === 'at+jwt') };
      await call('PUT', `${realm}/clients/${client.id}`, { ...client, attributes });
    },
  };
}

export type RealmAdmin = Awaited<ReturnType<typeof administer>>;
