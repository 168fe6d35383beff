// `npm start` beside an identity provider that runs already, and the files that it leaves.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LaunchedStack, launchStack } from '../secrets/launched-stack.ts';
import { callerFor } from '../stack/client.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { audience } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const providerDir = mkdtempSync(join(tmpdir(), 'service-router-provider-'));
let provider: Program;
let stack: LaunchedStack;

beforeAll(async () => {
  provider = await startProgram('dev/identity-provider/main.ts', { STATE_DIR: providerDir, IDP_PORT: '0' });
  stack = await launchStack({
    CONDUCTOR_URL: engineOfRun().url,
    OAUTH_ISSUER: String(provider.ready['issuer']),
    OAUTH_AUDIENCE: audience,
    RECONCILER_INTERVALMS: '0',
  });
}, 90_000);
afterAll(async () => {
  await stack?.stop();
  await provider?.stop();
  rmSync(providerDir, { recursive: true, force: true });
});

it('with oauth.issuer set: starts no identity provider, prints nothing of its clients, and takes the tokens of the issuer', async () => {
  expect(readdirSync(stack.stateDir)).not.toContain('identity-provider');
  expect(readdirSync(join(stack.stateDir, 'logs'))).not.toContain('identity-provider.log');
  const printed = String(stack.written().get('the launcher'));
  expect(printed).toContain(
    `The router accepts the access tokens of ${String(provider.ready['issuer'])}, and no others.`,
  );
  expect(printed).not.toContain('demo');
  const demo = await callerFor(stack.url);
  expect((await demo('/movies/Metropolis')).status).toBe(200);
});

it('only its owner can read what is in the state directory', () => {
  const names = readdirSync(stack.stateDir, { recursive: true, encoding: 'utf8' });
  expect(names).toEqual(expect.arrayContaining(['back-ends.sqlite', 'logs/router.log']));
  const open = ['.', ...names].filter((name) => (statSync(join(stack.stateDir, name)).mode & 0o077) !== 0);
  expect(open).toEqual([]);
});
