// Tests of running stacks: the CLI uses the addresses of a stack unless an option or the configuration names others.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { openEngine } from '../../cli/engine/engine-access.ts';
import { loadCommandConfig } from '../../cli/gateway/command-config.ts';
import { runCli } from './run-cli.ts';

let engine: FakeEngine;
let stateDir: string;
let note: string;
beforeEach(async () => {
  engine = await startFakeEngine();
  stateDir = mkdtempSync(join(tmpdir(), 'cli-stack-'));
  const startedAt = new Date().toISOString();
  note = `Using the stack started at ${startedAt} (router http://127.0.0.1:1)\n`;
  writeStack({ pid: process.pid, startedAt, router: 'http://127.0.0.1:1', engine: engine.url });
});
afterEach(async () => {
  await engine.stop();
  rmSync(stateDir, { recursive: true });
});

const writeStack = (stack: object) => writeFileSync(join(stateDir, 'stack.json'), JSON.stringify(stack));
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(args, { STATE_DIR: stateDir, ...env });

describe('commands for the engine', () => {
  it('call the engine of the running stack, and say so on stderr', async () => {
    const { exitCode, stdout, stderr } = await run(['plan', '--no-diff']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: note });
    expect(stdout).toContain(`${engine.url}: plan `);
  });

  it('still print one document on stdout with --json', async () => {
    const result = await run(['plan', '--json']);
    expect(result.stderr).toBe(note);
    expect(result.json()).toMatchObject({ engine: engine.url });
  });

  it.each([
    ['an option', ['--engine', 'http://127.0.0.1:9'], {}],
    ['the environment', [], { CONDUCTOR_URL: 'http://127.0.0.1:9' }],
  ])('use the address that %s names, and do not mention the stack', async (_what, options, env) => {
    const { exitCode, stderr } = await run(['plan', ...options], env);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:9 does not respond/);
  });

  it('use the router of the stack, or that of conductor.apiURL, for --router without a URL', async () => {
    const ops = { OPS_CLIENTID: 'ops', OPS_CLIENTSECRET: 'x' };
    const through = ['status', '--router'];
    expect((await run(through, ops)).stderr).toMatch(`${note}http://127.0.0.1:1 does not respond`);
    const env = { ...ops, CONDUCTOR_APIURL: 'http://127.0.0.1:9/conductor/api' };
    expect((await run(through, env)).stderr).toMatch(/^http:\/\/127\.0\.0\.1:9 does not respond/);
  });

  it('plan --prune: reads the routes of the gateway in this folder if `--dir` contains only definitions', async () => {
    engine.workflows.push({ name: 'moviesWF', version: 1, tasks: [] });
    for (const folder of ['workflows/tasks', 'event-handlers'])
      mkdirSync(join(stateDir, 'definitions', folder), { recursive: true });
    const { stdout, stderr } = await run(['plan', '--prune', '--no-diff', '--dir', join(stateDir, 'definitions')]);
    expect(`${stderr}${stdout}`).toMatch(/^- workflow moviesWF v1 .*started by route movies: needs --force$/m);
  });

  it('use the Redis of the stack only together with its engine', async () => {
    const redis = 'redis://127.0.0.1:1';
    writeStack({ pid: process.pid, startedAt: new Date().toISOString(), engine: engine.url, redis });
    const redisOf = async (env: Record<string, string>) => {
      const host = { env: { STATE_DIR: stateDir, ...env }, stderr: { write: () => true } };
      return (await loadCommandConfig(host as never, ['conductor.url', 'redis.url'], {}))['redis.url'];
    };
    expect(await redisOf({})).toBe(redis);
    expect(await redisOf({ CONDUCTOR_URL: 'http://127.0.0.1:9' })).toBeUndefined();
  });

  it('use the key prefix of the stack for records, unless the configuration sets one', async () => {
    writeStack({ pid: process.pid, startedAt: new Date().toISOString(), engine: engine.url, recordsKeyPrefix: 'its:' });
    const prefixOf = async (env: Record<string, string>) => {
      const host = { env: { STATE_DIR: stateDir, ...env }, stderr: { write: () => true } };
      const access = await openEngine({}, host as never);
      await access.close();
      return access.config['records.keyPrefix'];
    };
    expect(await prefixOf({ REDIS_URL: 'redis://:hidden@127.0.0.1:1' })).toBe('its:');
    expect(await prefixOf({ RECORDS_KEYPREFIX: 'mine:' })).toBe('mine:');
    expect(await prefixOf({ CONDUCTOR_URL: 'http://127.0.0.1:9' })).toBe('service-router:records:');
  });

  it('do not look for a stack when they only check files', async () => {
    expect((await run(['check'])).stderr).toBe('');
    expect((await run(['check', '--config'])).stdout).not.toContain(engine.url);
  });
});

describe('commands for the database and for tokens', () => {
  it('events: opens the database of the stack, unless another engine is configured', async () => {
    const file = join(stateDir, 'none.db');
    writeStack({ pid: process.pid, startedAt: new Date().toISOString(), engineDatabase: `sqlite:${file}` });
    const { exitCode, stderr } = await run(['events']);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(file) });
    const other = await run(['events'], { CONDUCTOR_URL: 'http://127.0.0.1:9' });
    expect(other.stderr).toMatch(/^the engine's API does not expose events/);
  });

  it('token: checks against the issuer and the audience of the stack', async () => {
    const identityProvider = 'http://127.0.0.1:4';
    writeStack({ pid: process.pid, startedAt: new Date().toISOString(), identityProvider });
    const client = ['--client-id', 'demo', '--client-secret', 'demo-secret'];
    const { exitCode, stderr } = await run(['token', ...client]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('the identity provider cannot issue a token now');
    expect((await run(['token', ...client], { STATE_DIR: '/nonexistent' })).stderr).toMatch(
      /^oauth\.issuer is not set, and no stack is running here/,
    );
  });

  it('token: ignores the file of a stack that ended without removing it', async () => {
    writeStack({ pid: process.pid, startedAt: '2001-01-01T00:00:00Z', identityProvider: 'http://127.0.0.1:4' });
    const { stderr } = await run(['token', '--client-id', 'demo', '--client-secret', 'demo-secret']);
    expect(stderr).toMatch(/^oauth\.issuer is not set, and no stack is running here/);
  });
});
