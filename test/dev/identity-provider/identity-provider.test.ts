// Tests of the identity provider with a real OAuth client.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import * as oauth from 'oauth4webapi';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from '../../../dev/identity-provider/start-identity-provider.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';

const silent = createLog('identity-provider', 'silent');
const http = { [oauth.allowInsecureRequests]: true };
const stateDirs: string[] = [];

function newStateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'idp-'));
  stateDirs.push(dir);
  return dir;
}

function start(options: Partial<IdentityProviderOptions> = {}): Promise<IdentityProvider> {
  return startIdentityProvider({ port: 0, stateDir: newStateDir(), log: silent, ...options });
}

async function discover(provider: IdentityProvider): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(provider.issuer);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http });
  return oauth.processDiscoveryResponse(issuer, response);
}

interface TokenRequest {
  clientId: string;
  secret?: string;
  parameters?: Record<string, string>;
  authentication?: (secret: string) => oauth.ClientAuth;
}

async function requestToken(server: oauth.AuthorizationServer, request: TokenRequest) {
  const { clientId, secret = `${clientId}-secret`, parameters = {}, authentication = oauth.ClientSecretPost } = request;
  const client = { client_id: clientId };
  const response = await oauth.clientCredentialsGrantRequest(server, client, authentication(secret), parameters, http);
  return oauth.processClientCredentialsResponse(server, client, response);
}

async function publishedKeys(server: oauth.AuthorizationServer): Promise<Record<string, unknown>[]> {
  const { keys } = (await (await fetch(server.jwks_uri as string)).json()) as { keys: Record<string, unknown>[] };
  return keys;
}

async function verifyWithPublishedKeys(server: oauth.AuthorizationServer, token: string) {
  const { header } = jsonwebtoken.decode(token, { complete: true }) as jsonwebtoken.Jwt;
  const jwk = (await publishedKeys(server)).find((key) => key['kid'] === header.kid);
  const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  return jsonwebtoken.verify(token, key, { complete: true, algorithms: ['RS256'] });
}

afterAll(async () => {
  for (const dir of stateDirs) rmSync(dir, { recursive: true });
});

describe('token endpoint', () => {
  let provider: IdentityProvider;
  let server: oauth.AuthorizationServer;
  beforeAll(async () => {
    provider = await start();
    server = await discover(provider);
  });
  afterAll(() => provider.stop());

  test.each([
    ['demo', 'sisdata_W'],
    ['reader', 'sisdata_R'],
    ['worker', 'conductor_worker'],
    ['ops', 'conductor_admin'],
  ])('client %s: no scope requested → all of its scopes, %s', async (clientId, scope) => {
    const response = await requestToken(server, { clientId });
    expect(response).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope });
    expect(jsonwebtoken.decode(response.access_token)).toMatchObject({ scope, client_id: clientId });
  });

  test('an access token is a JWT as in RFC 9068 section 2, and the published keys verify it', async () => {
    const { access_token: token } = await requestToken(server, { clientId: 'demo' });
    const { header, payload } = await verifyWithPublishedKeys(server, token);
    expect(header).toMatchObject({ alg: 'RS256', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toMatchObject({
      iss: provider.issuer,
      aud: 'urn:service-router',
      sub: 'demo',
      client_id: 'demo',
      jti: expect.any(String),
    });
    const { iat = 0, exp = 0 } = payload as jsonwebtoken.JwtPayload;
    expect(exp - iat).toBe(3600);
  });

  test.each([
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ])('every client may authenticate by %s', async (_method, authentication) => {
    for (const clientId of ['demo', 'reader', 'worker', 'ops', 'opaque']) {
      const response = await requestToken(server, { clientId, authentication });
      expect(response.access_token).not.toBe('');
    }
  });

  test('a requested scope is granted when the client has it', async () => {
    const response = await requestToken(server, { clientId: 'demo', parameters: { scope: 'sisdata_W' } });
    expect(response.scope).toBe('sisdata_W');
  });

  test.each(['conductor_admin', 'no-such-scope', 'sisdata_W conductor_admin', 'openid'])(
    'scope "%s", which the client does not have → 400 invalid_scope',
    async (scope) => {
      await expect(requestToken(server, { clientId: 'demo', parameters: { scope } })).rejects.toMatchObject({
        status: 400,
        error: 'invalid_scope',
      });
    },
  );

  test('wrong secret → 401 invalid_client', async () => {
    const failure = { status: 401, error: 'invalid_client' };
    await expect(requestToken(server, { clientId: 'demo', secret: 'wrong' })).rejects.toMatchObject(failure);
  });

  test('unknown client → 401 invalid_client', async () => {
    await expect(requestToken(server, { clientId: 'nobody' })).rejects.toMatchObject({ error: 'invalid_client' });
  });

  test('credentials in header and body → 400 invalid_request', async () => {
    const response = await fetch(server.token_endpoint as string, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('demo:demo-secret')}` },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'demo',
        client_secret: 'demo-secret',
      }),
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  test('another grant type → 400 unsupported_grant_type', async () => {
    const body = { grant_type: 'password', client_id: 'demo', client_secret: 'demo-secret', username: 'a' };
    const response = await fetch(server.token_endpoint as string, {
      method: 'POST',
      body: new URLSearchParams(body),
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'unsupported_grant_type' }]);
  });

  test('an unknown resource (RFC 8707) → 400 invalid_target', async () => {
    const parameters = { resource: 'https://elsewhere.example' };
    await expect(requestToken(server, { clientId: 'demo', parameters })).rejects.toMatchObject({
      error: 'invalid_target',
    });
  });

  test('a client that prefers HTML still gets an error as JSON', async () => {
    const response = await fetch(server.token_endpoint as string, {
      method: 'POST',
      headers: { accept: 'text/html' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'demo', client_secret: 'x' }),
    });
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toMatchObject({ error: 'invalid_client' });
  });

  test('metadata announces only supported features', () => {
    expect(server).toMatchObject({
      issuer: provider.issuer,
      grant_types_supported: ['client_credentials'],
      introspection_endpoint: expect.stringContaining(provider.url),
      revocation_endpoint: expect.stringContaining(provider.url),
    });
    expect(server.scopes_supported).toEqual(
      expect.arrayContaining(['sisdata_W', 'sisdata_R', 'conductor_worker', 'conductor_admin']),
    );
  });
});

describe('options', () => {
  let provider: IdentityProvider;
  afterEach(() => provider.stop());

  test('a given issuer, audience and lifetime → they are in the token', async () => {
    const issuer = 'http://idp.example:8083';
    provider = await start({ issuer, audience: 'https://api.example', tokenSeconds: 7 });
    const response = await fetch(`${provider.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'demo',
        client_secret: 'demo-secret',
      }),
    });
    const { access_token: token, expires_in: seconds } = (await response.json()) as oauth.TokenEndpointResponse;
    expect(seconds).toBe(7);
    expect(jsonwebtoken.decode(token)).toMatchObject({ iss: issuer, aud: 'https://api.example' });
  });

  test('a taken port → an error that names the port and its variable', async () => {
    provider = await start();
    const port = Number(new URL(provider.url).port);
    await expect(start({ port })).rejects.toThrow(`port ${port} is taken: set IDP_PORT to another one`);
  });
});

describe('opaque tokens', () => {
  let provider: IdentityProvider;
  let server: oauth.AuthorizationServer;
  const introspector = { client_id: 'introspector' };
  const secretOf = (client: oauth.Client) => oauth.ClientSecretPost(`${client.client_id}-secret`);
  beforeAll(async () => {
    provider = await start();
    server = await discover(provider);
  });
  afterAll(() => provider.stop());

  const introspect = async (token: string, client: oauth.Client = introspector) => {
    const response = await oauth.introspectionRequest(server, client, secretOf(client), token, http);
    return oauth.processIntrospectionResponse(server, client, response);
  };
  const opaqueToken = async () => (await requestToken(server, { clientId: 'opaque' })).access_token;

  test('the client "opaque" gets a token that is not a JWT; the introspector can introspect it', async () => {
    const token = await opaqueToken();
    expect(token).not.toContain('.');
    expect(await introspect(token)).toMatchObject({
      active: true,
      client_id: 'opaque',
      scope: 'sisdata_W',
      aud: 'urn:service-router',
      iss: provider.issuer,
      exp: expect.any(Number),
    });
  });

  test('a client that may not introspect gets no information', async () => {
    expect(await introspect(await opaqueToken(), { client_id: 'demo' })).toEqual({ active: false });
  });

  test('an unknown token is not active', async () => {
    expect(await introspect('no-such-token')).toEqual({ active: false });
  });

  test('a JWT cannot be introspected, because it is self-contained', async () => {
    const { access_token: token } = await requestToken(server, { clientId: 'demo' });
    await expect(introspect(token)).rejects.toMatchObject({ error: 'unsupported_token_type' });
  });

  test('a token that its owner revoked is no longer active; another client cannot revoke it', async () => {
    const token = await opaqueToken();
    for (const [client, active] of [
      [{ client_id: 'demo' }, true],
      [{ client_id: 'opaque' }, false],
    ] as const) {
      const response = await oauth.revocationRequest(server, client, secretOf(client), token, http);
      await oauth.processRevocationResponse(response);
      expect((await introspect(token)).active).toBe(active);
    }
  });

  test('an opaque token still works after a key rotation', async () => {
    const token = await opaqueToken();
    await provider.rotateKeys();
    expect((await introspect(token)).active).toBe(true);
  });

  test('the introspector gets no token for itself', async () => {
    await expect(requestToken(server, { clientId: 'introspector' })).rejects.toMatchObject({
      error: 'invalid_request',
    });
  });
});

describe('signing keys', () => {
  test('are one RS256 and one ES256 key, of which only the public parts are published', async () => {
    const provider = await start();
    const keys = await publishedKeys(await discover(provider));
    await provider.stop();
    expect(keys.map((key) => key['alg'])).toEqual(['RS256', 'ES256']);
    for (const key of keys) expect(Object.keys(key)).not.toContain('d');
  });

  test('are kept in a file that only its owner can read, and outlast a restart', async () => {
    const stateDir = newStateDir();
    const first = await start({ stateDir });
    const { access_token: token } = await requestToken(await discover(first), { clientId: 'demo' });
    await first.stop();
    expect(statSync(join(stateDir, 'identity-provider/jwks.json')).mode & 0o777).toBe(0o600);

    const second = await start({ stateDir });
    await expect(verifyWithPublishedKeys(await discover(second), token)).resolves.toBeDefined();
    await second.stop();
  });

  test('rotation: a new key signs, tokens of the old key stay verifiable, and both outlast a restart', async () => {
    const stateDir = newStateDir();
    const first = await start({ stateDir });
    const server = await discover(first);
    const { access_token: before } = await requestToken(server, { clientId: 'demo' });
    await first.rotateKeys();
    const { access_token: after } = await requestToken(server, { clientId: 'demo' });
    const kids = [await verifyWithPublishedKeys(server, before), await verifyWithPublishedKeys(server, after)].map(
      (token) => token.header.kid,
    );
    expect(new Set(kids).size).toBe(2);
    await first.stop();

    const second = await start({ stateDir });
    const restarted = await discover(second);
    await expect(verifyWithPublishedKeys(restarted, before)).resolves.toBeDefined();
    const { access_token: later } = await requestToken(restarted, { clientId: 'demo' });
    expect((await verifyWithPublishedKeys(restarted, later)).header.kid).toBe(kids[1]);
    await second.stop();
  });

  test('two rotations at once add two keys', async () => {
    const provider = await start();
    await Promise.all([provider.rotateKeys(), provider.rotateKeys()]);
    expect(await publishedKeys(await discover(provider))).toHaveLength(4);
    await provider.stop();
  });

  test.each(['{"keys": [', '{}', 'null'])(
    'a broken key file (%s) → an error that names the file, which is left unchanged',
    async (text) => {
      const stateDir = newStateDir();
      const provider = await start({ stateDir });
      await provider.stop();
      const file = join(stateDir, 'identity-provider/jwks.json');
      writeFileSync(file, text);
      await expect(start({ stateDir })).rejects.toThrow(`${file} does not contain a key set`);
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );
});

test('a client that never finishes its request does not delay the stop', async () => {
  const provider = await start();
  const socket = connect(Number(new URL(provider.url).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
  socket.write('POST /token HTTP/1.1\r\nHost: idp\r\nContent-Length: 9\r\n\r\n');
  await new Promise((resolve) => socket.once('connect', resolve));
  await provider.stop();
  await closed;
  await expect(fetch(provider.url)).rejects.toThrow('fetch failed');
});
