// Tests of `npm run faults` on a machine that lacks what a case needs: the case is skipped, and the next case runs.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));
let programs: string;
beforeAll(() => {
  programs = mkdtempSync(join(tmpdir(), 'without-mount-'));
  const mount = join(programs, 'mount');
  writeFileSync(mount, '#!/bin/sh\necho "mount: permission denied" >&2\nexit 32\n');
  chmodSync(mount, 0o755);
});
afterAll(() => rmSync(programs, { recursive: true }));

/** Runs cases as a user who may not mount a file system. */
const run = (cases: readonly string[], env: Record<string, string> = {}) => {
  // On Redis, `redis-data-lost` gives a reason for not running.
  const args = [main, '--dry', '--store', 'redis', ...cases.flatMap((name) => ['--case', name])];
  const { PATH, HOME } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 60_000,
    env: { HOME, ...env, PATH: `${programs}:${PATH}` },
  });
  return { status, stdout, stderr };
};

it('a case that must mount a file system is not run for a user who may not mount one', () => {
  const { status, stdout } = run(['engine-disk-full', 'redis-data-lost']);
  expect(stdout).toMatch(/^engine-disk-full: not run, .*needs permission to mount/m);
  expect(stdout).toMatch(/^redis-data-lost: not run, /m);
  expect(status).toBe(0);
});

it('an error in one case: the run fails, but the next case follows', () => {
  const { status, stdout, stderr } = run(['engine-disk-full', 'redis-data-lost'], { TEST_REQUIRE: 'mount' });
  expect(stdout + stderr).toContain('TEST_REQUIRE names mount');
  expect(stdout).toMatch(/^engine-disk-full: failed, /m);
  expect(stdout).toMatch(/^redis-data-lost: not run, /m);
  expect(status).toBe(1);
});
