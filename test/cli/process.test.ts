// Tests of the CLI as a process: what `cli/main.ts` and the executable add to the function `run`.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { cliEntry, runCli, startCli } from './run-cli.ts';

describe('exit code and streams', () => {
  it.each([
    ['the help', ['plan', '--help'], 0],
    ['no command', [], 1],
    ['an unavailable engine, as a JSON document', ['plan', '--json', '--engine', 'http://127.0.0.1:1'], 1],
  ])('%s: the same as from the function `run`', async (_what, args, code) => {
    const [inProcess, { result }] = [runCli(args), startCli(args)];
    const { exitCode, stdout, stderr } = await result;
    expect(exitCode).toBe(code);
    expect({ exitCode, stdout, stderr }).toEqual(withoutJson(await inProcess));
  });

  it('a plan with changes: exit 2, and the environment of the process applies', async () => {
    const engine = await startFakeEngine();
    const { exitCode, stdout } = await startCli(['plan', '--no-diff'], { CONDUCTOR_URL: engine.url }).result;
    await engine.stop();
    expect(exitCode).toBe(2);
    expect(stdout).toContain(`${engine.url}: plan `);
  });

  it('FORCE_COLOR: coloured output although stdout is not a terminal', async () => {
    const { stdout } = await startCli(['plan', '--help'], { FORCE_COLOR: '1' }).result;
    expect(stdout).toContain('\x1b[1mUsage:');
  });
});

describe('service-router test --json', () => {
  it.each([
    ['passes', true, 0, { ok: true, problems: [] }],
    ['fails', false, 1, { ok: false, problems: ['a test has failed'] }],
  ])(
    'a test that %s: one document on stdout, and the report of the tests on stderr',
    async (name, holds, code, document) => {
      const dir = mkdtempSync(join(tmpdir(), 'service-router-test-'));
      const file = join(dir, `${name}.test.mjs`);
      writeFileSync(
        file,
        `import assert from 'node:assert';\nimport { it } from 'node:test';\nit('${name}', () => assert(${holds}));\n`,
      );
      const { exitCode, stderr, json } = await startCli(['test', file, '--json']).result;
      rmSync(dir, { recursive: true });
      expect(exitCode).toBe(code);
      expect(json()).toEqual(document);
      expect(stderr).toContain(name);
    },
  );
});

it('a closed pipe: no error', async () => {
  const child = spawn(process.execPath, [cliEntry, 'routes', '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.destroy();
  const [code] = (await once(child, 'close')) as [number | null];
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

it('a token on standard input: is read and checked', async () => {
  const args = [cliEntry, 'token', '--token-file', '-'];
  const env = { ...process.env, OAUTH_ISSUER: 'http://127.0.0.1:1' };
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stdin.end('opaque-token\n');
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(2);
  expect(stdout).toMatch(/^token refused with 401: format: /m);
});

it('Ctrl-C twice while the engine does not respond: ends at once, exit 130', async () => {
  const asked = Promise.withResolvers<undefined>();
  const silent = createServer(() => asked.resolve(undefined)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const { process: child, result } = startCli(['prune', '--yes', '--older-than', '7d', '--engine', url]);
  await asked.promise;
  // Two different signals, because two equal ones at the same time may be delivered as one.
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect((await result).exitCode).toBe(130);
  silent.closeAllConnections();
  silent.close();
});

it('the bin file: runs the CLI from any directory', async () => {
  const bin = fileURLToPath(new URL('../../cli/service-router.mjs', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [bin, 'routes'], { cwd: tmpdir() });
  expect(stderr).toBe('');
  expect(stdout).toBe((await runCli(['routes'])).stdout);
});

function withoutJson({ exitCode, stdout, stderr }: Awaited<ReturnType<typeof runCli>>) {
  return { exitCode, stdout, stderr };
}
