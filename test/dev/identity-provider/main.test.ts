// Tests of the identity provider as a process: environment, signals and output.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { ProgramFailed, startProgram } from '../../stack/program.ts';

const entry = 'dev/identity-provider/main.ts';
const stateDir = mkdtempSync(join(tmpdir(), 'idp-process-'));
const env = { IDP_PORT: '0', STATE_DIR: stateDir };
afterAll(() => rmSync(stateDir, { recursive: true }));

function requestToken(url: unknown, secret = 'demo-secret'): Promise<Response> {
  const body = { grant_type: 'client_credentials', client_id: 'demo', client_secret: secret };
  return fetch(`${String(url)}/token`, { method: 'POST', body: new URLSearchParams(body) });
}

async function failureWith(more: Record<string, string>): Promise<ProgramFailed> {
  const failure = await startProgram(entry, { ...env, ...more }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ProgramFailed);
  return failure as ProgramFailed;
}

test('reports its address, issues tokens of the configured lifetime, and exits with 0 on SIGTERM', async () => {
  const program = await startProgram(entry, { ...env, IDP_TOKEN_SECONDS: '11' });
  expect(program.ready).toEqual({ url: program.ready['url'], issuer: program.ready['url'] });
  const response = await requestToken(program.ready['url']);
  expect(await response.json()).toMatchObject({ expires_in: 11 });
  expect(await program.stop()).toBe(0);
});

test('writes only JSON log lines, one per rejected request, and never a secret', async () => {
  const program = await startProgram(entry, env);
  await requestToken(program.ready['url']);
  await requestToken(program.ready['url'], 'wrong-secret-marker');
  await program.stop();
  const lines = program
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter((line) => line['msg'] === 'request refused')).toEqual([
    expect.objectContaining({ clientId: 'demo', error: 'invalid_client', path: '/token' }),
  ]);
  expect(program.output()).not.toContain('wrong-secret-marker');
});

test('SIGUSR2 rotates the signing keys', async () => {
  const program = await startProgram(entry, env);
  const countKeys = async () => {
    const response = await fetch(`${String(program.ready['url'])}/jwks`);
    return ((await response.json()) as { keys: unknown[] }).keys.length;
  };
  const before = await countKeys();
  program.process.kill('SIGUSR2');
  await pollUntil('a new key to be published', async () => (await countKeys()) === before + 1);
  await program.stop();
});

test('NODE_ENV=production → exit code 1, and a message that says what to do instead', async () => {
  expect(await failureWith({ NODE_ENV: 'production' })).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('set OAUTH_ISSUER to your own identity provider'),
  });
});

test('an IDP_TOKEN_SECONDS that is not a positive integer → exit code 1, and a message that names it', async () => {
  expect(await failureWith({ IDP_TOKEN_SECONDS: '0' })).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('IDP_TOKEN_SECONDS must be a whole number of seconds above 0, but is "0"'),
  });
});
