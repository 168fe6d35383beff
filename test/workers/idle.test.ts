// Tests of a worker process without a task type to serve, in a gateway that `init` has created.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { compileCache } from '../stack/compile-cache.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'service-router-idle-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('a worker without a task type runs until SIGTERM, even without a launcher, and logs what to set', async () => {
  const gateway = join(dir, 'our-gateway');
  expect(await runCli(['init', gateway, '--package', '^1.2.3'])).toMatchObject({ exitCode: 0 });
  const env = { ...compileCache, WORKERS_CLIENTID: 'worker', WORKERS_CLIENTSECRET: 'worker-secret' };
  const child = spawn(process.execPath, [resolve('workers/main.ts')], { cwd: gateway, env });
  let output = '';
  let isStopping = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
    if (!isStopping && output.includes('"started"')) isStopping = child.kill('SIGTERM');
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string });
  expect(lines.map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/^no task type to serve: set backEnd\.<name>\.url/),
    'started',
    'stopping',
  ]);
});
