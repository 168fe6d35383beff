// Tests that `dump` and `plan` agree on which definitions are equivalent.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { runCli } from './run-cli.ts';

const handlerFile = 'event-handlers/mdm.json';
let engine: FakeEngine;
let copy: CopyOfProduct;
beforeEach(async () => {
  [engine, copy] = [await startFakeEngine(), copyOfProduct()];
  await run('register');
});
afterEach(async () => {
  copy.dispose();
  await engine.stop();
});

const run = (command: string, ...options: string[]) =>
  runCli([command, '--engine', engine.url, '--dir', copy.dir, ...options]);

it('writes nothing where plan finds nothing to do', async () => {
  expect((await run('plan')).exitCode).toBe(0);
  const { exitCode, stdout } = await run('dump');
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/: 0 new, 0 changed, /) });
});

it('marks a handler as inactive in its file when it was deactivated in the engine by hand', async () => {
  Object.assign(engine.eventHandlers.find(({ name }) => name === 'mdm') ?? {}, { active: false });
  expect((await run('dump', '--force')).stdout).toMatch(/: 0 new, 1 changed, /);
  expect(JSON.parse(readFileSync(join(copy.dir, handlerFile), 'utf8'))).toMatchObject({ active: false });
});
