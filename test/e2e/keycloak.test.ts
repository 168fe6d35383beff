// Tests of Keycloak as the identity provider, with the realm in deploy/. Opt-in, because Keycloak is downloaded
// (176 MB) and starts slowly.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { administer, type RealmAdmin } from '../keycloak/admin.ts';
import { type Keycloak, startKeycloak } from '../keycloak/start-keycloak.ts';
import { call, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Stack, startStack, untilReady } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { requires } from '../run/requirements.ts';

const clients = ['demo', 'reader', 'worker', 'ops'] as const;
type Client = (typeof clients)[number];

const secrets = Object.fromEntries(clients.map((client) => [client, crypto.randomUUID()])) as Record<Client, string>;
const placeholders = Object.fromEntries(
  clients.map((client) => [`${client.toUpperCase()}_CLIENT_SECRET`, secrets[client]]),
);

describe('Keycloak as identity provider', requires('full'), () => {
  let keycloak: Keycloak;
  let admin: RealmAdmin;
  let stack: Stack;

  beforeAll(async () => {
    keycloak = await startKeycloak(placeholders);
    admin = await administer(keycloak);
    stack = await startStack({
      engineUrl: engineOfRun().url,
      router: {
        OAUTH_ISSUER: keycloak.issuer,
        // The endpoints are set, as in docker-compose.yml, so that the router does not discover them.
        OAUTH_JWKSURL: `${keycloak.issuer}/protocol/openid-connect/certs`,
        OAUTH_TOKENURL: `${keycloak.issuer}/protocol/openid-connect/token`,
      },
      workers: { WORKERS_CLIENTSECRET: secrets.worker },
    });
  }, 420_000);
  afterAll(async () => {
    await stack?.stop();
    await keycloak?.stop();
  });

  const askToken = (form: Record<string, string>, headers: Record<string, string> = {}): Promise<RouterAnswer> =>
    call(`${stack.url}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString(),
    });
  const inBody = (client: Client) => ({ client_id: client, client_secret: secrets[client] });
  const basic = (client: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}`,
  });
  const tokenFor = async (client: Client) =>
    (await askToken(inBody(client))).json<{ access_token: string }>().access_token;
  const get = (path: string, token: string) =>
    call(`${stack.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const patchPerson = (token: string) =>
    call(`${stack.url}/adaptor/001/mock/colleges/001/persons/0318204`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"cccid":"KEY0001"}',
    });

  describe('the token path', () => {
    it('credentials in the body → a token as RFC 9068 describes it', async () => {
      const answer = await askToken(inBody('demo'));
      expect(answer.status).toBe(200);
      expect(answer.headers['cache-control']).toBe('no-store');
      const { access_token: token, ...rest } = answer.json<{ access_token: string }>();
      expect(rest).toEqual({ token_type: 'Bearer', expires_in: 600, scope: 'sisdata_W' });
      const [header, claims] = partsOf(token);
      expect(header).toMatchObject({ alg: 'RS256', typ: 'at+jwt' });
      expect(claims).toMatchObject({
        iss: keycloak.issuer,
        aud: 'urn:service-router',
        sub: expect.any(String),
        client_id: 'demo',
        scope: 'sisdata_W',
      });
    });

    it('credentials in an HTTP Basic header → a token', async () => {
      const answer = await askToken({}, basic('reader', secrets.reader));
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ scope: 'sisdata_R' });
    });

    it.each([
      ['a wrong secret in the body', { client_id: 'demo', client_secret: 'wrong' }, {}],
      ['a wrong secret in the header', {}, basic('demo', 'wrong')],
      ['an unknown client', { client_id: 'nobody', client_secret: 'x' }, {}],
      ['the placeholder in the realm file', { client_id: 'ops', client_secret: '${OPS_CLIENT_SECRET}' }, {}],
    ])('%s → 401 invalid_client', async (_title, form, headers) => {
      const answer = await askToken(form, headers);
      expect(answer.status).toBe(401);
      expect(answer.json()).toMatchObject({ error: 'invalid_client' });
      expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
    });

    it('a scope that the client may not have → 400 invalid_scope', async () => {
      const answer = await askToken({ ...inBody('reader'), scope: 'sisdata_W' });
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ error: 'invalid_scope' });
    });
  });

  describe('routes', () => {
    it('a token of any client can read, through workers that poll with their own tokens', async () => {
      for (const client of ['demo', 'reader'] as const) {
        const answer = await get('/movies/Metropolis', await tokenFor(client));
        expect(answer.status).toBe(200);
        expect(answer.json()).toMatchObject({ title: 'Metropolis' });
      }
    });

    it('PATCH with sisdata_W → 200; without it → 403, which names the scope', async () => {
      const allowed = await patchPerson(await tokenFor('demo'));
      expect(allowed.status).toBe(200);
      expect(allowed.json()).toMatchObject({ sisPersonId: '0318204', cccid: 'KEY0001' });
      const refused = await patchPerson(await tokenFor('reader'));
      expect(refused.status).toBe(403);
      expect(refused.headers['www-authenticate']).toMatch(/error="insufficient_scope".*scope="sisdata_W"/);
    });

    it('a token of another realm or another provider → 401 invalid_token', async () => {
      const ofMaster = await call(`${keycloak.url}/realms/master/protocol/openid-connect/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=password&client_id=admin-cli&username=admin&password=${keycloak.adminPassword}`,
      });
      const ofEmbedded = await call(`${stack.issuer}/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials&client_id=demo&client_secret=demo-secret',
      });
      for (const issued of [ofMaster, ofEmbedded]) {
        const answer = await get('/movies/Metropolis', issued.json<{ access_token: string }>().access_token);
        expect(answer.status).toBe(401);
        expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
      }
    });
  });

  describe("the engine's API", () => {
    const poll = '/conductor/api/tasks/poll/batch/keycloak_suite?count=1&timeout=0';

    it('key and secret, as Conductor’s SDKs send them → a token that may poll', async () => {
      const answer = await call(`${stack.url}/conductor/api/token`, {
        method: 'POST',
        json: { keyId: 'worker', keySecret: secrets.worker },
      });
      expect(answer.status).toBe(200);
      const { token } = answer.json<{ token: string }>();
      expect((await call(`${stack.url}${poll}`, { headers: { 'x-authorization': token } })).status).toBeLessThan(300);
    });

    it('the scopes decide: demo may not poll, ops may read definitions, worker may not', async () => {
      const definitions = '/conductor/api/metadata/workflow/moviesWF?version=1';
      expect((await get(poll, await tokenFor('demo'))).status).toBe(403);
      expect((await get(definitions, await tokenFor('ops'))).status).toBe(200);
      expect((await get(definitions, await tokenFor('worker'))).status).toBe(403);
    });
  });

  describe('changes at the provider', () => {
    it('a new signing key: tokens of the new key and of the old key are both accepted', async () => {
      const before = await tokenFor('reader');
      await admin.rotateKeys();
      const after = await tokenFor('reader');
      expect(partsOf(after)[0]['kid']).not.toBe(partsOf(before)[0]['kid']);
      // An unknown key makes the router fetch the key set, but not within seconds of the previous unknown key.
      await pollUntil(
        'the new key to be accepted',
        async () => (await get('/movies/Metropolis', after)).status === 200,
      );
      expect((await get('/movies/Metropolis', before)).status).toBe(200);
    });

    it('tokens of the type JWT → 401 until oauth.acceptedTypes lists it; the endpoints may be discovered', async () => {
      await admin.setTokenType('reader', 'JWT');
      const token = await tokenFor('reader');
      expect(partsOf(token)[0]['typ']).toBe('JWT');
      expect((await get('/movies/Metropolis', token)).status).toBe(401);
      await stack.router.stop();
      await stack.restartRouter({ OAUTH_ACCEPTEDTYPES: 'at+jwt,JWT', OAUTH_JWKSURL: '', OAUTH_TOKENURL: '' });
      await untilReady(stack);
      expect((await get('/movies/Metropolis', await tokenFor('reader'))).status).toBe(200);
    });

    it('Keycloak is unavailable: no new token (503), but issued tokens stay valid', async () => {
      const token = await tokenFor('demo');
      await keycloak.stop();
      const refused = await askToken(inBody('demo'));
      expect(refused.status).toBe(503);
      expect(refused.headers['content-type']).toBe('application/problem+json');
      expect((await get('/movies/Metropolis', token)).status).toBe(200);
    });
  });
});

/** Returns the header and the claims of a JWT. */
function partsOf(token: string): [header: Record<string, unknown>, claims: Record<string, unknown>] {
  const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString('utf8'));
  return [JSON.parse(header ?? ''), JSON.parse(claims ?? '')] as [Record<string, unknown>, Record<string, unknown>];
}
