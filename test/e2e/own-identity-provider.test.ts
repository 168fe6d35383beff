// Tests of `npm start` with OAUTH_ISSUER and an operator's own realm on a real Keycloak: opt-in, like keycloak.test.ts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOwnRealm, type OwnRealm } from '../keycloak/own-realm.ts';
import { type Keycloak, startKeycloak } from '../keycloak/start-keycloak.ts';
import { requires } from '../run/requirements.ts';
import { type LaunchedStack, launchStack } from '../secrets/launched-stack.ts';
import { call } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { engineOfRun } from './engine-of-run.ts';

/** Secrets for the realm that Keycloak imports when it starts; no test here uses that realm. */
const ofTheOtherRealm = Object.fromEntries(
  ['DEMO', 'READER', 'WORKER', 'OPS'].map((client) => [`${client}_CLIENT_SECRET`, crypto.randomUUID()]),
);

describe('npm start with OAUTH_ISSUER', requires('full'), () => {
  let keycloak: Keycloak;
  let realm: OwnRealm;

  beforeAll(async () => {
    keycloak = await startKeycloak(ofTheOtherRealm);
    realm = await createOwnRealm(keycloak);
  }, 420_000);
  afterAll(() => keycloak?.stop(), 60_000);

  /** Returns the settings of the how-to page, for Keycloak's usual token type. */
  const settings = (changed: Record<string, string> = {}) => ({
    CONDUCTOR_URL: engineOfRun().url,
    RECONCILER_INTERVALMS: '0',
    OAUTH_ISSUER: realm.issuer,
    OAUTH_AUDIENCE: realm.audience,
    OAUTH_ACCEPTEDTYPES: 'JWT',
    WORKERS_CLIENTID: 'router-workers',
    WORKERS_CLIENTSECRET: realm.secrets['router-workers'],
    ...changed,
  });

  describe('and the settings that the realm needs', () => {
    let stack: LaunchedStack;
    beforeAll(async () => {
      stack = await launchStack(settings());
    });
    afterAll(() => stack?.stop(), 30_000);

    const token = async (url: string) => {
      const form = { grant_type: 'client_credentials', client_id: 'portal', client_secret: realm.secrets.portal };
      const response = await call(url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      });
      return response.json<{ access_token: string }>().access_token;
    };
    const get = async (path: string, bearer: string) =>
      call(`${stack.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });

    it('GET with a token from Keycloak → 200, served by workers that poll with their own token', async () => {
      const response = await get('/movies/Metropolis', await token(`${realm.issuer}/protocol/openid-connect/token`));
      expect(response.status).toBe(200);
      expect(response.json()).toMatchObject({ title: 'Metropolis' });
    });

    it('GET with a token from the router’s token path → 200', async () => {
      expect((await get('/movies/Metropolis', await token(`${stack.url}/token/v1/token`))).status).toBe(200);
    });

    it('PATCH → 200, because the client `portal` has the scope sisdata_W', async () => {
      const response = await call(`${stack.url}/adaptor/001/mock/colleges/001/persons/0318204`, {
        method: 'PATCH',
        headers: {
          authorization: `Bearer ${await token(`${stack.url}/token/v1/token`)}`,
          'content-type': 'application/json',
        },
        body: '{"cccid":"OWN0001"}',
      });
      expect(response.status).toBe(200);
    });

    it('starts no identity provider', () => {
      expect([...stack.written().keys()]).toContain('router.log');
      expect([...stack.written().keys()]).not.toContain('identity-provider.log');
    });
  });

  it.each([
    [
      'an issuer that does not respond',
      async () => ({ OAUTH_ISSUER: `http://127.0.0.1:${await findFreePort()}/realms/college` }),
      /^oauth\.issuer: the keys of the identity provider are not loaded: .*ECONNREFUSED$/m,
    ],
    [
      'a realm that does not exist',
      async () => ({ OAUTH_ISSUER: `${keycloak.url}/realms/nobody` }),
      /\/realms\/nobody: its metadata endpoint responded with 404$/m,
    ],
    [
      'accepted types without the type of Keycloak’s tokens',
      async () => ({ OAUTH_ACCEPTEDTYPES: 'at+jwt' }),
      /its typ is "JWT", and oauth\.acceptedTypes has at\+jwt/,
    ],
    [
      'another audience',
      async () => ({ OAUTH_AUDIENCE: 'urn:service-router' }),
      /its aud is "https:\/\/router\.college\.example", and oauth\.audience is urn:service-router/,
    ],
    [
      'a worker client that the realm does not have',
      async () => ({ WORKERS_CLIENTID: 'worker' }),
      /issues no token to the workers' client worker .*: invalid_client/,
    ],
    [
      'a worker client without the scope',
      async () => ({ WORKERS_CLIENTID: 'portal', WORKERS_CLIENTSECRET: realm.secrets.portal }),
      /lacks the scope conductor_worker; its scopes: sisdata_W/,
    ],
  ])('%s → exits at once and says why', async (_title, changed, message) => {
    const started = launchStack(settings(await changed()));
    await expect(started).rejects.toThrow(message);
    await expect(started).rejects.toThrow('it ended with 1');
  });
});
