// Tests of the check that `npm start` makes of a given identity provider before it starts anything.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../../dev/identity-provider/start-identity-provider.ts';
import { checkIdentityProvider } from '../../../dev/stack/check-identity-provider.ts';
import { findFreePort } from '../../../dev/setup/ports.mjs';

const stateDir = mkdtempSync(join(tmpdir(), 'service-router-provider-check-'));
let provider: IdentityProvider;

beforeAll(async () => {
  provider = await startIdentityProvider({ port: 0, stateDir, log: createLog('identity-provider', 'silent') });
});
afterAll(async () => {
  await provider.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

const check = (settings: Record<string, string> = {}) =>
  checkIdentityProvider({
    OAUTH_ISSUER: provider.issuer,
    OAUTH_AUDIENCE: 'urn:service-router',
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    ...settings,
  });

it('a provider with the workers’ client → no problem', async () => {
  await expect(check()).resolves.toBeUndefined();
  await expect(check({ OAUTH_AUDIENCE: '' })).resolves.toBeUndefined();
});

it('a provider that does not respond → an error with its address and the cause', async () => {
  const issuer = `http://127.0.0.1:${await findFreePort()}`;
  await expect(check({ OAUTH_ISSUER: issuer })).rejects.toThrow(
    `oauth.issuer: the keys of the identity provider are not loaded: GET ${issuer}/.well-known/openid-configuration: ECONNREFUSED`,
  );
});

it('an issuer without discovery → an error with the requested address and the status', async () => {
  await expect(check({ OAUTH_ISSUER: `${provider.issuer}/realms/college` })).rejects.toThrow(
    `${provider.issuer}/realms/college: its metadata endpoint responded with 404`,
  );
});

it.each([
  ['an unknown client', { WORKERS_CLIENTID: 'unknown' }, "issues no token to the workers' client unknown"],
  ['a wrong secret', { WORKERS_CLIENTSECRET: 'wrong' }, '(workers.clientId, workers.clientSecret): invalid_client'],
  [
    'another audience',
    { OAUTH_AUDIENCE: 'urn:other' },
    'its audience is urn:service-router; oauth.audience is urn:other',
  ],
  ['another token type', { OAUTH_ACCEPTEDTYPES: 'JWT' }, 'its typ is at+jwt; oauth.acceptedTypes has JWT'],
  [
    'another claim for the client id',
    { OAUTH_CLIENTIDCLAIMS: 'appid' },
    'none of the claims in oauth.clientIdClaims (appid) names its client',
  ],
  [
    'a client without the scope of workers',
    { WORKERS_CLIENTID: 'demo', WORKERS_CLIENTSECRET: 'demo-secret' },
    'lacks the scope conductor_worker; its scopes: sisdata_W',
  ],
])('%s → an error with the reason and where to read more', async (_title, settings, message) => {
  const error = await check(settings).then(String, String);
  expect(error).toContain(message);
  expect(error).toContain('docs/how-to/use-your-identity-provider.md');
});
