// Tests of the JSON documents of `plan` and `apply --dry-run`, and of routes with several workflows in plans.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { runCli } from './run-cli.ts';
import { twoWorkflows } from './two-workflows.ts';

let copy: CopyOfProduct;
let engine: FakeEngine;
beforeEach(async () => {
  copy = copyOfProduct();
  engine = await startFakeEngine();
});
afterEach(async () => {
  copy.dispose();
  await engine.stop();
});

const run = (...args: string[]) => runCli([...args, '--dir', copy.dir, '--engine', engine.url]);

it.each([['plan'], ['apply', '--dry-run']])(
  '%s --json (apply with --dry-run): a route to a version that does not exist is a problem, exit 1',
  async (...command) => {
    copy.replace('gateway.config.yml', 'name: moviesWF, version: 1', 'name: moviesWF, version: 9');
    const { exitCode, json } = await run(...command, '--json');
    const problem = 'route movies starts moviesWF v9, which neither the files nor the engine has';
    expect(exitCode).toBe(1);
    expect(json()).toMatchObject({ ok: false, problems: [problem], missing: [problem] });
  },
);

it('plan --json: changes are not problems, exit 2', async () => {
  const { exitCode, json } = await run('plan', '--json');
  expect(exitCode).toBe(2);
  expect(json()).toMatchObject({ ok: false, problems: [] });
});

it('the second workflow of a route: a missing version is a problem, and removing a version needs --force', async () => {
  copy.replace('gateway.config.yml', twoWorkflows.from, twoWorkflows.to);
  copy.replace(
    'gateway.config.yml',
    '{ name: lms-dwWF, version: 1, strip: /movies',
    '{ name: lms-dwWF, version: 9, strip: /movies',
  );
  const problem = 'route movies starts lms-dwWF v9, which neither the files nor the engine has';
  expect((await run('plan', '--json')).json()).toMatchObject({ problems: [problem] });
  engine.workflows.push({ name: 'lms-dwWF', version: 9, tasks: [] });
  const { stdout } = await run('plan', '--prune', '--no-diff');
  expect(stdout).toMatch(/^- workflow lms-dwWF v9 .*started by route movies: needs --force$/m);
});
