// `npm test`: formatting, lint, types, then every test; stops at the first step that fails.
//
// Arguments go to vitest (`npm test -- test/e2e/routes.test.ts`); `--keycloak` adds the opt-in suite.
//
// Few failed test files get a second, quiet try of their own on one new engine, a file at a time, and the last lines name
// them: these are real processes and deadlines on a machine that others may use, and a file whose set-up failed has no
// other way to try again. A broken build fails both.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readFailures } from './failures.ts';

/** More failed files than this are no bad moment of the machine. */
const worthASecondTry = 4;

const rootDir = fileURLToPath(new URL('..', import.meta.url));
const bin = (path: string) => `${rootDir}node_modules/${path}`;
const given = process.argv.slice(2);
const keycloak = given.includes('--keycloak');
const forVitest = given.filter((argument) => argument !== '--keycloak');

/** Runs a step and says how it ended; exit code, 1 for a signal. */
async function run(title: string, script: string, ...args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  process.stdout.write(`── ${title}\n`);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
    cwd: rootDir,
    stdio: 'inherit',
    env: { ...process.env, ...(keycloak ? { WITH_KEYCLOAK: '1' } : {}) },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.stdout.write(
    `── ${title}: ${code === 0 ? 'ok' : 'failed'} in ${Math.round((performance.now() - startedAt) / 1000)} s\n`,
  );
  return code ?? 1;
}

async function runTests(): Promise<number> {
  const reports = mkdtempSync(join(tmpdir(), 'service-router-tests-'));
  try {
    const [first, last] = [join(reports, 'first.json'), join(reports, 'second.json')];
    const vitest = ['run', '--reporter', 'default', '--reporter', 'json', '--outputFile.json'];
    const code = await run('tests', bin('vitest/vitest.mjs'), ...vitest, first, ...forVitest);
    if (code === 0) return 0;
    const { files, summary } = readFailures(first);
    for (const line of summary) process.stdout.write(`   ${line}\n`);
    if (files.length > worthASecondTry) return code;
    // No failed file: the engine's start failed, or something threw outside of a test. Then all of it is tried again.
    const again = files.length > 0 ? files : forVitest;
    process.env['TEST_ENGINES'] = '1';
    const second = await run('tests, second try', bin('vitest/vitest.mjs'), ...vitest, last, ...again);
    const outcome = second === 0 ? 'failed once, passed at the second try' : 'failed twice';
    const named = second === 0 ? files : readFailures(last).files;
    process.stdout.write(`── ${outcome}: ${named.join(', ') || 'the run'}\n`);
    return second;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

const checks: readonly (readonly [title: string, script: string, ...args: string[]])[] = [
  ['formatting', bin('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.'],
  ['lint', bin('eslint/bin/eslint.js'), '--max-warnings', '0', '.'],
  ['types', bin('@typescript/native/bin/tsc'), '-p', '.'],
];

for (const check of checks) {
  const code = await run(...check);
  if (code !== 0) process.exit(code);
}
process.exit(await runTests());
