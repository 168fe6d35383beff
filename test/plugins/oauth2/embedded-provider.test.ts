// Tests of the plugin with a third-party identity provider: oidc-provider, as `npm start` runs it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../../dev/identity-provider/start-identity-provider.ts';
import { type PluginHost, startPluginHost } from './plugin-host.ts';

describe('the plugin with oidc-provider', () => {
  let stateDir: string;
  let provider: IdentityProvider;
  let host: PluginHost;

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'oauth2-provider-'));
    provider = await startIdentityProvider({ port: 0, stateDir, log: pino({ level: 'silent' }) });
    host = await startPluginHost({
      config: {
        OAUTH_ISSUER: provider.issuer,
        OAUTH_AUDIENCE: 'urn:service-router',
        OAUTH_INTROSPECTIONURL: `${provider.url}/token/introspection`,
        OAUTH_INTROSPECTIONCLIENTID: 'introspector',
        OAUTH_INTROSPECTIONCLIENTSECRET: 'introspector-secret',
      },
    });
  });

  afterAll(async () => {
    await host.stop();
    await provider.stop();
    await rm(stateDir, { recursive: true });
  });

  const requestToken = async (clientId: string, secret = `${clientId}-secret`) => {
    const response = await fetch(`${host.url}/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: secret }),
    });
    return { response, body: (await response.json()) as Record<string, unknown> };
  };
  const call = async (path: string, token: unknown, init: RequestInit = {}) => {
    const response = await fetch(host.url + path, { ...init, headers: { authorization: `bearer ${String(token)}` } });
    return { response, body: (await response.json()) as Record<string, unknown> };
  };

  it('a token request with the secret in the body → a token that lets the client write', async () => {
    const { response, body } = await requestToken('demo');
    expect(response.status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'sisdata_W' });
    const answer = await call('/write', body['access_token'], { method: 'PATCH' });
    expect(answer.response.status).toBe(200);
    expect(answer.body).toMatchObject({ clientId: 'demo', scopes: ['sisdata_W'] });
  });

  it('a client without the write scope → may read, but not write', async () => {
    const { body } = await requestToken('reader');
    expect((await call('/write', body['access_token'])).response.status).toBe(200);
    expect((await call('/write', body['access_token'], { method: 'PATCH' })).response.status).toBe(403);
  });

  it('a wrong secret and an unknown client → the same 401 invalid_client', async () => {
    const wrong = await requestToken('demo', 'wrong');
    const unknown = await requestToken('nobody');
    expect(wrong.response.status).toBe(401);
    expect(wrong.body).toEqual({ error: 'invalid_client', error_description: 'Client authentication failed' });
    expect(unknown.response.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  it('an opaque token → introspected (RFC 7662)', async () => {
    const { body } = await requestToken('opaque');
    expect(String(body['access_token']).split('.')).toHaveLength(1);
    const answer = await call('/write', body['access_token'], { method: 'PATCH' });
    expect(answer.response.status).toBe(200);
    expect(answer.body['clientId']).toBe('opaque');
    expect((await call('/any', 'made-up')).response.status).toBe(401);
  });

  it('key rotation → tokens of the new key and of the old one work', async () => {
    const before = await requestToken('demo');
    await provider.rotateKeys();
    const after = await requestToken('demo');
    expect((await call('/any', after.body['access_token'])).response.status).toBe(200);
    expect((await call('/any', before.body['access_token'])).response.status).toBe(200);
  });

  it('a Conductor key → a token that the engine routes accept in X-Authorization without a scheme', async () => {
    const response = await fetch(`${host.url}/conductor-token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ keyId: 'worker', keySecret: 'worker-secret' }),
    });
    const { token, expires_in } = (await response.json()) as { token: string; expires_in: number };
    expect(expires_in).toBe(3600);
    const answer = await fetch(`${host.url}/engine`, { headers: { 'x-authorization': token } });
    expect(answer.status).toBe(200);
  });
});
