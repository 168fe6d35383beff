// The CLI beside a running `npm start` on other ports: it finds engine, identity provider and database without an option.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { compileCache } from '../stack/compile-cache.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'cli-running-stack-'));
const stackFile = join(stateDir, 'stack.json');
let stack: ChildProcess;
let exited: Promise<unknown[]>;
let output = '';

beforeAll(async () => {
  const { PATH, HOME, JAVA_HOME } = process.env;
  const ports = { ROUTER_PORT: '0', OPS_PORT: '0', CONDUCTOR_PORT: '0', IDP_PORT: '0', BACKENDS_PORT: '0' };
  const entry = fileURLToPath(new URL('../../dev/main.ts', import.meta.url));
  stack = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', entry], {
    env: { ...compileCache, PATH, HOME, JAVA_HOME, STATE_DIR: stateDir, ...ports },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [stack.stdout, stack.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  exited = once(stack, 'exit');
  await Promise.race([
    pollUntil('the stack to be ready', () => /^Ready after/m.test(output), { timeoutMs: 170_000, everyMs: 100 }),
    exited.then(() => Promise.reject(new Error(`npm start ended:\n${output}`))),
  ]);
}, 180_000);
afterAll(async () => {
  stack?.kill('SIGTERM');
  await exited;
  rmSync(stateDir, { recursive: true, force: true });
}, 60_000);

const run = (...args: string[]) => runCli(args, { STATE_DIR: stateDir });
const routerUrl = () => /^ {2}router +(\S+)$/m.exec(output)?.[1] ?? '';

it('is found by its state directory, and named on stderr', async () => {
  const { exitCode, stdout, stderr } = await run('plan');
  expect(stderr).toMatch(/^Using the stack started at \S+Z \(router http:\/\/127\.0\.0\.1:\d+\)\n$/);
  expect(stderr).toContain(`(router ${routerUrl()})`);
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('nothing to do') });
});

describe('beside it', () => {
  it.each([
    ['status', []],
    ['workers', []],
    ['executions', ['list']],
    ['events', []],
    ['token', ['--client-id', 'demo', '--client-secret', 'demo-secret']],
    ['plan', ['--router', '--client-id', 'ops', '--client-secret', 'ops-secret']],
  ])('%s %j: needs no address, exit 0', async (command, options) => {
    const { exitCode, stdout, stderr } = await run(command, ...options);
    expect({ exitCode, stdout, stderr }).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^Using the stack .*\n$/),
    });
  });
});

it('its file holds no secret, and goes when it is stopped', async () => {
  expect(readFileSync(stackFile, 'utf8')).not.toMatch(/secret/i);
  stack.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(existsSync(stackFile)).toBe(false);
});
