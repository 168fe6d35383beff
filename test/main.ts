// `npm test`: formatting, lint, types, unit tests and end-to-end tests, all at the same time; the run ends with a table.
//
// Arguments go to vitest (`npm test -- test/e2e/routes.test.ts`). `--full` (`npm run test:full`) runs the same files at
// full depth, and also the tests that take too long for every commit. No test is retried.

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { depthOfRun } from './run/depth.ts';
import { runWholeRuns } from './run/full-steps.ts';
import { startOwnPostgresql } from './run/postgresql.ts';
import { joinRecords, type RunRecord, toTable } from './run/record.ts';
import { seedOfRun } from './run/seed.ts';
import { type EndedStep, runStep, type Step } from './run/steps.ts';

const rootDir = fileURLToPath(new URL('..', import.meta.url));
const module = (path: string) => `${rootDir}node_modules/${path}`;
const cache = (name: string) => `${rootDir}node_modules/.cache/${name}`;

/** The caches hold digests of the checked files, so that unchanged files are not checked again. */
const checks: readonly Step[] = [
  {
    title: 'types',
    command: [
      ...[module('@typescript/native/bin/tsc'), '-p', '.'],
      ...['--incremental', '--tsBuildInfoFile', cache('types')],
      // The other steps use the other cores; in one thread, the type check takes half as much CPU time.
      '--singleThreaded',
    ],
    env: { GOGC: '400' },
  },
  {
    title: 'lint',
    command: [module('oxlint/bin/oxlint'), '--deny-warnings'],
  },
  {
    title: 'formatting of code',
    command: [module('oxfmt/bin/oxfmt'), '--check', '.'],
  },
  {
    title: 'formatting of pages',
    command: [
      ...[module('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn'],
      ...['--cache', '--cache-strategy', 'content', '--cache-location', cache('formatting')],
      '**/*.{md,json,css,html}',
    ],
  },
];

/**
 * Returns one step for each project, so that the engine of `e2e` starts while `unit` runs. If the arguments name a
 * project, there is only one step.
 */
function testSteps(args: readonly string[], records: string): Step[] {
  const projects: readonly (string | undefined)[] = args.includes('--project') ? [undefined] : ['unit', 'e2e'];
  return projects.map((project, index): Step => ({
    title: `${project ?? 'chosen'} tests`,
    command: [
      ...[module('vitest/vitest.mjs'), 'run', '--passWithNoTests'],
      ...(project === undefined ? [] : ['--project', project]),
      ...args,
    ],
    env: { TEST_RECORD: join(records, `${index}.json`) },
  }));
}

function readRecords(folder: string, count: number): RunRecord {
  const files = Array.from({ length: count }, (_, index) => join(folder, `${index}.json`));
  const lost: RunRecord = { files: [], errors: ['a run of vitest ended without a record'] };
  return joinRecords(
    files.map((file) => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunRecord) : lost)),
  );
}

/** Returns the lines that are printed at the end of a run. */
function summarize(ended: readonly EndedStep[], record: RunRecord, startedAt: number): string[] {
  const failed = ended.filter(({ isOk }) => !isOk).map(({ title }) => title);
  const outcome = failed.length === 0 ? 'passed' : `failed: ${failed.join(', ')}`;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return [
    `── ${outcome} in ${seconds} s, depth ${depthOfRun()}, TEST_SEED=${seedOfRun()}`,
    ended.map((step) => `${step.title} ${step.isOk ? 'ok' : 'failed'} ${Math.round(step.seconds)} s`).join(' · '),
    ...toTable(record),
    ...(record.files.length === 0 ? ['no test file was found'] : []),
  ];
}

/**
 * Creates a folder for the temporary files of all processes of this run. It is removed at the end, because skipped tests
 * leave files behind.
 */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-tests-'));
  // PostgreSQL runs as another user when this process runs as root.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  return folder;
}

async function main(given: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const args = given.filter((argument) => argument !== '--full');
  const isFull = args.length < given.length;
  if (isFull) process.env['TEST_DEPTH'] = 'full';
  process.stdout.write(`── depth ${depthOfRun()}, TEST_SEED=${seedOfRun()}\n`);
  const folder = makeFolder();
  let postgresql: Awaited<ReturnType<typeof startOwnPostgresql>>;
  // Ctrl-C also reaches the steps: they end, and their leftovers are removed. A second Ctrl-C stops at once.
  process.once('SIGINT', () => undefined);
  try {
    postgresql = await startOwnPostgresql();
    Object.assign(process.env, postgresql?.env);
    const suites = testSteps(args, folder);
    const ended = await Promise.all([...checks, ...suites].map((step) => runStep(step, rootDir)));
    if (isFull && args.length === 0) ended.push(...(await runWholeRuns(rootDir)));
    const record = readRecords(folder, suites.length);
    process.stdout.write(`\n${summarize(ended, record, startedAt).join('\n')}\n`);
    return ended.every(({ isOk }) => isOk) && record.files.length > 0 ? 0 : 1;
  } finally {
    await postgresql?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
