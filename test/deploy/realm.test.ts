// Tests of the realm that Keycloak imports: it has the clients that the product needs, and no secret is in the file.

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { compose, realm, textOf } from './deployment-files.ts';

const client = (id: string) => realm.clients.find(({ clientId }) => clientId === id);

describe('deploy/keycloak/service-router-realm.json', () => {
  it.each([
    ['demo', 'sisdata_W'],
    ['reader', 'sisdata_R'],
    ['worker', 'conductor_worker'],
    ['ops', 'conductor_admin'],
  ])('%s gets %s without requesting it, and nothing else', (id, scope) => {
    expect(client(id)?.defaultClientScopes).toEqual(['service-router', scope]);
    expect(client(id)?.['optionalClientScopes']).toEqual([]);
    expect(client(id)?.['fullScopeAllowed']).toBe(false);
  });

  it('every secret is a placeholder, which the compose file fills from a required variable', () => {
    const environment = compose.services['keycloak']?.environment ?? {};
    for (const { clientId, secret } of realm.clients) {
      const name = /^\$\{(\w+)\}$/.exec(secret)?.[1] ?? '';
      expect([clientId, environment[name]]).toEqual([clientId, expect.stringContaining(`\${${name}:?`)]);
    }
  });

  it('clients are confidential and may use only the client credentials grant', () => {
    for (const one of realm.clients) {
      expect(one).toMatchObject({
        publicClient: false,
        serviceAccountsEnabled: true,
        standardFlowEnabled: false,
        implicitFlowEnabled: false,
        directAccessGrantsEnabled: false,
      });
    }
  });

  it('tokens have the type that oauth.acceptedTypes contains by default', () => {
    for (const { attributes } of realm.clients) expect(attributes['access.token.header.type.rfc9068']).toBe('true');
  });

  it('every scope that gateway.config.yml requires can be requested, and appears in the token', () => {
    const text = JSON.stringify(parse(textOf('gateway.config.yml')));
    const asked = [...text.matchAll(/"(sisdata_\w+|conductor_\w+)"/g)].map(([, scope]) => scope);
    expect(new Set(asked).size).toBe(3);
    for (const scope of asked) {
      const found = realm.clientScopes.find(({ name }) => name === scope);
      expect([scope, found?.attributes['include.in.token.scope']]).toEqual([scope, 'true']);
    }
  });

  it('tokens have the audience that the router requires', () => {
    const variable = compose.services['router-a']?.environment?.['OAUTH_AUDIENCE'] ?? '';
    const audience = /^\$\{OAUTH_AUDIENCE:-(.+)\}$/.exec(variable)?.[1];
    expect(textOf('deploy/keycloak/service-router-realm.json')).toContain(`"included.custom.audience": "${audience}"`);
  });
});
