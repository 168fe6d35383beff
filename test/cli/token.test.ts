// Tests of `token --raw`: stdout has the token only when it is accepted.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { createKey, createToken } from '../plugins/oauth2/forge.ts';
import { type ProviderStandIn, startProviderStandIn } from '../plugins/oauth2/provider-stand-in.ts';
import { copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type CliResult, runCli } from './run-cli.ts';

const key = createKey('ES256');
let provider: ProviderStandIn;
let token: string;

beforeEach(async () => {
  provider = await startProviderStandIn();
  provider.publish(key);
  issue({});
});
afterEach(() => provider.stop());

/** Makes the provider issue a token with these claims. */
function issue(claims: Record<string, unknown>): void {
  token = createToken(key, provider, { claims });
  const body = { access_token: token, token_type: 'Bearer', expires_in: 60 };
  provider.answerToken = () => ({ status: 200, body });
}

function raw(...options: string[]): Promise<CliResult> {
  const { issuer, audience } = provider;
  const oauth = { OAUTH_ISSUER: issuer, OAUTH_AUDIENCE: audience };
  return runCli(['token', '--raw', ...options], { ...oauth, OPS_CLIENTID: 'demo', OPS_CLIENTSECRET: 'secret' });
}

it('an accepted token → the token and nothing else', async () => {
  expect(await raw()).toMatchObject({ exitCode: 0, stdout: `${token}\n`, stderr: '' });
  expect((await raw('--json')).json()).toMatchObject({ ok: true, token });
});

it('a token that cannot be checked → the reason on stderr, not the token, exit 1', async () => {
  provider.behaviour.jwks = 'refuse';
  const { exitCode, stdout, stderr } = await raw();
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^token refused with 503: unavailable: it cannot be checked now: /m);
  expect(stderr).not.toContain(token);
  expect((await raw('--json')).json()).toMatchObject({
    ok: false,
    problems: [expect.stringMatching(/^token refused with 503: unavailable: it cannot be checked now: /)],
  });
});

it('a token that is refused → the reason on stderr, not the token, exit 2', async () => {
  issue({ aud: 'urn:other' });
  const { exitCode, stdout, stderr } = await raw();
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^token refused with 401: audience: its audience is urn:other/m);
  expect(stderr).not.toContain(token);
});

it('a token that the named route refuses → the reason on stderr, not the token, exit 2', async () => {
  issue({ scope: 'sisdata_R' });
  const { exitCode, stdout, stderr } = await raw('--route', 'adaptor', '--method', 'PATCH');
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^adaptor +PATCH +refused with 403 /m);
  expect(stderr).not.toContain(token);
});

it('a route whose decision depends on a header → undecided, exit 2', async () => {
  const copy = copyOfProduct();
  copy.replace(
    'gateway.config.yml',
    '          - action: { writeScope: sisdata_W }',
    '          - condition: { name: hostMatch, pattern: a.example.org }\n            action: { writeScope: sisdata_W }',
  );
  issue({ scope: 'sisdata_R' });
  const { exitCode, stderr } = await raw('--dir', copy.dir, '--route', 'adaptor', '--method', 'PATCH');
  copy.dispose();
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^adaptor +PATCH +undecided +if hostMatch: /m);
});

it('a step with a condition on GET also applies to HEAD', async () => {
  const copy = copyOfProduct();
  copy.replace(
    'gateway.config.yml',
    '    apiEndpoints: [movies]\n    policies:\n      - bearer:\n',
    '    apiEndpoints: [movies]\n    policies:\n      - bearer:\n          - condition: { name: method, methods: [GET] }\n            action: { scopes: [films] }\n',
  );
  issue({ scope: 'sisdata_R' });
  const { exitCode, stderr } = await raw('--dir', copy.dir, '--route', 'movies', '--method', 'HEAD');
  copy.dispose();
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^movies +HEAD +refused with 403 /m);
});

it('a refused token with --json → a document without the token', async () => {
  issue({ aud: 'urn:other' });
  const { stdout, json } = await raw('--json');
  expect(json()).toMatchObject({ ok: false, reason: 'audience' });
  expect(stdout).not.toContain(token);
});

it.each([
  ['/conductor/api/%zz', '--path: /conductor/api/%zz is not percent-encoded UTF-8; a literal % is %25'],
  ['adaptor/001/x', '--path: adaptor/001/x must begin with /'],
])('the path %s → an error that says why', async (path, problem) => {
  const { exitCode, stderr } = await raw('--path', path);
  expect([exitCode, stderr]).toEqual([1, `${problem}\n`]);
});
