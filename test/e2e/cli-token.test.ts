// Tests of the `token` command: for each reason for a refusal, the output agrees with the running router's response.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliResult, runCli } from '../cli/run-cli.ts';
import { createKey, createToken, type SigningKey, type TokenMint, type TokenParts } from '../plugins/oauth2/forge.ts';
import { call, tokenOf } from '../stack/client.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import { audience, shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const foreign = createKey();
let stack: Stack;
let key: SigningKey;
let mint: TokenMint;
let dir: string;
let env: Record<string, string>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cli-token-'));
  const limits = { 'client.demo.misCodes': '001' };
  stack = await shareStack({ engineUrl: engineOfRun().url, withWorkers: false, router: limits });
  key = await issuerKey(stack);
  mint = { issuer: stack.issuer, audience, nowSeconds: () => Date.now() / 1_000 };
  env = { ...stack.routerEnv, OPS_CLIENTID: 'demo', OPS_CLIENTSECRET: 'demo-secret' };
});
afterAll(async () => {
  await stack?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const now = () => Math.floor(Date.now() / 1_000);
const nextYear = now() + 365 * 86_400;
const token = ({ header = {}, claims = {} }: TokenParts = {}, by = key) =>
  createToken(by, mint, { header, claims: { client_id: 'demo', scope: 'sisdata_W', ...claims } });

function explain(text: string, ...options: string[]): Promise<CliResult> {
  const file = join(dir, 'token');
  writeFileSync(file, `${text}\n`);
  return runCli(['token', '--token-file', file, ...options], env);
}

/** Returns the status of the router's response to a request with this token. */
async function statusOf(text: string, path: string, method = 'GET'): Promise<number> {
  return (await call(`${stack.url}${path}`, { method, headers: { authorization: `Bearer ${text}` } })).status;
}

describe('a token that is refused', () => {
  const reasons: [reason: string, forge: () => string, says: RegExp][] = [
    ['format', () => 'opaque-token', /opaque tokens are not accepted: oauth\.introspectionURL is not set/],
    ['size', () => token({ claims: { filler: 'x'.repeat(9_000) } }), /longer than 8192/],
    [
      'algorithm',
      () => token({ header: { alg: 'HS256' } }),
      /signed with HS256; oauth\.algorithms has RS256, PS256, ES256/,
    ],
    [
      'type',
      () => token({ header: { typ: 'JWT' } }),
      /its typ is JWT; oauth\.acceptedTypes has at\+jwt: is it an ID token\?/,
    ],
    ['critical-extension', () => token({ header: { crit: ['x'], x: 1 } }), /requires an extension/],
    ['unknown-key', () => token({}, foreign), /has no key [\w-]+ for RS256/],
    ['signature', () => token({}, { ...foreign, kid: key.kid }), /the token was changed, or signed by somebody else/],
    ['claims', () => token({ claims: { exp: 'tomorrow' } }), /exp must be a number/],
    [
      'client',
      () => token({ claims: { client_id: undefined, sub: 'demo' } }),
      /none of the claims in oauth\.clientIdClaims \(client_id, azp\) names its client/,
    ],
    [
      'issuer',
      () => token({ claims: { iss: 'https://elsewhere.example' } }),
      /its issuer is https:\/\/elsewhere\.example; oauth\.issuer is http/,
    ],
    [
      'audience',
      () => token({ claims: { aud: 'urn:other' } }),
      /its audience is urn:other; oauth\.audience is urn:service-router/,
    ],
    [
      'expired',
      () => token({ claims: { iat: now() - 7_200, exp: now() - 3_600 } }),
      /it has expired \(20\d\d-.*Z\): get another one/,
    ],
    ['not-yet-valid', () => token({ claims: { nbf: now() + 600 } }), /not valid before 20\d\d-.*: do the clocks/],
    [
      'not-yet-valid',
      () => token({ claims: { nbf: now() - 600, iat: nextYear } }),
      new RegExp(`not valid before ${new Date(nextYear * 1_000).toISOString()}: do the clocks`),
    ],
    ['too-long-life', () => token({ claims: { exp: now() + 90 * 86_400 } }), /oauth\.maxTokenSeconds allows 86400 s/],
    ['sender-constrained', () => token({ claims: { cnf: { jkt: 'x' } } }), /bound to a key of its holder/],
  ];

  it.each(reasons)(
    '%s: the output names the reason and the values of the token and the configuration; the router returns 401',
    async (reason, forge, says) => {
      const text = forge();
      const { exitCode, stdout, stderr } = await explain(text);
      expect([exitCode, stderr]).toEqual([2, '']);
      expect(stdout).toMatch(new RegExp(`^token refused with 401: ${reason}: `, 'm'));
      expect(stdout).toMatch(says);
      expect(stdout).not.toContain(text);
      expect(stdout).not.toContain(text.split('.').at(-1));
      expect(await statusOf(text, '/movies/Metropolis')).toBe(401);
    },
  );

  it('inactive: an opaque token that the identity provider reports as inactive', async () => {
    const introspection = {
      OAUTH_INTROSPECTIONURL: `${stack.issuer}/token/introspection`,
      OAUTH_INTROSPECTIONCLIENTID: 'introspector',
      OAUTH_INTROSPECTIONCLIENTSECRET: 'introspector-secret',
    };
    const file = join(dir, 'token');
    writeFileSync(file, 'made-up-token');
    const { exitCode, stdout } = await runCli(['token', '--token-file', file], { ...env, ...introspection });
    expect([exitCode, stdout]).toMatchObject([2, expect.stringMatching(/^token refused with 401: inactive: /m)]);
  });

  it('exits with 1 when the identity provider is unreachable, and says that the token cannot be checked', async () => {
    const away = { ...env, OAUTH_ISSUER: 'http://127.0.0.1:1' };
    const file = join(dir, 'token');
    writeFileSync(file, token());
    const { exitCode, stderr } = await runCli(['token', '--token-file', file], away);
    expect([exitCode, stderr]).toMatchObject([
      1,
      expect.stringMatching(/token refused with 503: unavailable: it cannot be checked now/),
    ]);
  });
});

describe('a valid token', () => {
  const cases: [
    title: string,
    client: string,
    options: string[],
    path: string,
    method: string,
    refused: [number, RegExp] | null,
  ][] = [
    [
      'without the write scope',
      'reader',
      ['--route', 'adaptor', '--method', 'PATCH'],
      '/adaptor/001/x',
      'PATCH',
      [403, /needs sisdata_W; the token has sisdata_R/],
    ],
    [
      'without an operator scope',
      'demo',
      ['--route', 'conductor', '--method', 'GET'],
      '/conductor/api/workflow/x',
      'GET',
      [403, /needs one of conductor_worker, conductor_admin/],
    ],
    [
      'for a path of another college',
      'demo',
      ['--route', 'adaptor', '--method', 'GET', '--path', '/adaptor/002/x'],
      '/adaptor/002/x',
      'GET',
      [403, /client\.demo\.misCodes forbids this path/],
    ],
    [
      'for a path that names another college further down',
      'demo',
      ['--route', 'adaptor', '--method', 'GET', '--path', '/adaptor/001/mock/colleges/002/x'],
      '/adaptor/001/mock/colleges/002/x',
      'GET',
      [403, /client\.demo\.misCodes forbids this path/],
    ],
    [
      'with a method that the route does not have',
      'demo',
      ['--route', 'movies', '--method', 'DELETE'],
      '/movies/x',
      'DELETE',
      [405, /only GET/],
    ],
    [
      'of a worker for a call that only operators may make',
      'worker',
      ['--route', 'conductor', '--method', 'GET', '--path', '/conductor/api/workflow/x'],
      '/conductor/api/workflow/x',
      'GET',
      [403, /this call needs the scope conductor_admin/],
    ],
    [
      'for a call that the router does not forward',
      'ops',
      ['--route', 'conductor', '--method', 'DELETE', '--path', '/conductor/api/workflow/x'],
      '/conductor/api/workflow/x',
      'DELETE',
      [404, /does not forward this call/],
    ],
    [
      'of an operator',
      'ops',
      ['--route', 'conductor', '--method', 'GET', '--path', '/conductor/api/metadata/taskdefs'],
      '/conductor/api/metadata/taskdefs',
      'GET',
      null,
    ],
  ];

  it.each(cases)('%s (%s): same result as from the router', async (_title, client, options, path, method, refused) => {
    const text = await tokenOf(stack.url, client);
    const { exitCode, stdout } = await explain(text, ...options);
    const status = await statusOf(text, path, method);
    if (refused === null) {
      expect([exitCode, status]).toEqual([0, 200]);
      expect(stdout).toMatch(/ passes$/m);
      return;
    }
    expect([exitCode, status]).toEqual([2, refused[0]]);
    expect(stdout).toContain(`refused with ${refused[0]}`);
    expect(stdout).toMatch(refused[1]);
  });

  it('a token from the identity provider or the router is described, and printed only with --raw', async () => {
    for (const from of [[], ['--router', stack.url]]) {
      const shown = await runCli(['token', ...from, '--json'], env);
      expect(shown.exitCode).toBe(0);
      expect(shown.json()).toMatchObject({
        ok: true,
        valid: true,
        clientId: 'demo',
        scopes: ['sisdata_W'],
        token: { issuer: stack.issuer },
      });
      expect(shown.stdout).not.toMatch(/eyJ|demo-secret/);
      const raw = await runCli(['token', ...from, '--raw'], env);
      expect(raw.stdout).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
      expect(await statusOf(raw.stdout.trim(), '/lmsDW/999/x')).not.toBe(401);
    }
  });

  it('exits with 1 for a wrong secret, and does not repeat the secret', async () => {
    for (const from of [[], ['--router', stack.url]]) {
      const { exitCode, stdout, stderr } = await runCli(['token', ...from], { ...env, OPS_CLIENTSECRET: 'guessed' });
      expect([exitCode, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/issued no token to client "demo": (401 )?invalid_client/);
      expect(stderr).not.toContain('guessed');
    }
  });
});
