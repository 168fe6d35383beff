// Tests of finding the workers of a gateway.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { productDir } from '#lib/config/folders.ts';
import { findWorkers } from '../../workers/gateway-workers.ts';
import { workers } from '../../workers/index.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'service-router-workers-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
}

const registry = (taskType: string) =>
  `export const workers = { '${taskType}': { create: () => ({ taskDefName: '${taskType}' }), pools: ['default'] } };`;

it('finds the workers of the product in this repository', async () => {
  expect(Object.keys(await findWorkers(productDir))).toEqual(Object.keys(workers));
});

it('finds only those product workers whose task types the gateway defines', async () => {
  expect(await findWorkers(dir)).toEqual({});
  write('workflows/tasks/mdm_notify.json', '{}');
  write('workflows/tasks/README.md', '');
  expect(Object.keys(await findWorkers(dir))).toEqual(['mdm_notify']);
});

it("finds the gateway's own workers too", async () => {
  write('workflows/tasks/mdm_notify.json', '{}');
  write('workers/index.ts', registry('count'));
  expect(Object.keys(await findWorkers(dir))).toEqual(['mdm_notify', 'count']);
});

it('a worker of the gateway replaces the product worker for the same task type', async () => {
  write('workflows/tasks/mdm_notify.json', '{}');
  write('workers/index.ts', registry('mdm_notify'));
  const { mdm_notify: found } = await findWorkers(dir);
  expect(found?.create).not.toBe(workers.mdm_notify.create);
});

it.each([
  ['that does not load', 'import "./missing.ts";', /^workers\/index\.ts cannot be loaded: /],
  ['that throws null', 'throw null;', /^workers\/index\.ts cannot be loaded: null$/],
  ['that exports no workers', 'export const worker = {};', /^workers\/index\.ts must export workers: /],
  ['that exports workers of the wrong type', 'export const workers = { count: () => 1 };', /must export workers/],
  [
    'with a misspelt pool',
    "export const workers = { count: { create: () => ({}), pools: ['default', 'defualt'] } };",
    /^workers\/index\.ts: count has the pool "defualt", which does not exist: write 'default' or 'domain'$/,
  ],
  [
    'with a worker in no pool',
    'export const workers = { count: { create: () => ({}), pools: [] } };',
    /^workers\/index\.ts: count has no pools, .* write 'default' or 'domain'$/,
  ],
])('an index %s → an error that says what to do', async (_title, text, message) => {
  write('workers/index.ts', text);
  const error: unknown = await findWorkers(dir).catch((thrown: unknown) => thrown);
  expect((error as { problems: string[] }).problems).toEqual([expect.stringMatching(message)]);
});

it('several workers with misspelt pools → one problem for each pool', async () => {
  const entry = (pool: unknown) => `{ create: () => ({}), pools: [${JSON.stringify(pool)}] }`;
  write('workers/index.ts', `export const workers = { a: ${entry('Domain')}, b: ${entry(1)}, c: ${entry('domain')} };`);
  await expect(findWorkers(dir)).rejects.toMatchObject({
    name: 'ConfigError',
    problems: [expect.stringContaining('a has the pool "Domain"'), expect.stringContaining('b has the pool 1')],
  });
});

it('a syntax error in a file that the index imports → an error with file, line and message', () => {
  write('workers/index.ts', 'import "./count.ts"; export const workers = {};');
  write('workers/count.ts', '\nconst count: number = ;\n');
  const program = `import { findWorkers } from './workers/gateway-workers.ts';
    await findWorkers(${JSON.stringify(dir)}).catch(({ problems }) => console.log(problems.join()));`;
  // Runs in a separate process, because Vitest would compile the files itself.
  const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  expect(execFileSync(process.execPath, node, { cwd: productDir, encoding: 'utf8' })).toBe(
    'workers/index.ts cannot be loaded: workers/count.ts:2: Expression expected\n',
  );
});
