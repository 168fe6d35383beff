// Tests of `npm run coverage` with `--least` and no tests: it fails when files are uncovered or a folder has no files.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

/** Measures the coverage of `vitest --help`, which runs no test, so no file is covered. */
const run = (folder: string) => {
  const { PATH, HOME } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [main, '--folder', folder, '--least', '90', '--', '--help'],
    { encoding: 'utf8', timeout: 60_000, env: { PATH, HOME } },
  );
  return { status, stdout, stderr };
};

it('a folder with uncovered files: fails', () => {
  const { status, stdout } = run('plugins/oauth2/');
  expect(stdout).toMatch(/^plugins\/oauth2\/.+ is below 90 %$/m);
  expect(status).toBe(1);
});

it('a folder without a file: fails before a test runs, with a message', () => {
  expect(run('plugins/oauth')).toEqual({ status: 1, stdout: '', stderr: 'plugins/oauth has no file of the product\n' });
});
