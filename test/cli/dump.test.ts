// `dump` and `plan` agree on what is the same, also where the configuration decides whether a handler is active.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { runCli } from './run-cli.ts';

const handlerFile = 'event-handlers/mdm-update-002.json';
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

const queue = { MDM_UPDATEQUEUE: 'true' };
const run = (command: string, options: string[] = [], env: Record<string, string> = {}) =>
  runCli([command, '--engine', engine.url, '--dir', copy.dir, ...options], env);
const readHandler = () => JSON.parse(readFileSync(join(copy.dir, handlerFile), 'utf8')) as Record<string, unknown>;
const handlerIn = (list: FakeEngine['eventHandlers']) => list.find(({ name }) => name === 'mdm-update-002');

describe.each([
  ['without the update queue', {}],
  ['with the update queue', queue],
])('%s', (_what, env: Record<string, string>) => {
  it('writes nothing where plan finds nothing to do', async () => {
    await run('register', [], env);
    expect((await run('plan', [], env)).exitCode).toBe(0);
    const { exitCode, stdout } = await run('dump', [], env);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/: 0 new, 0 changed, /) });
  });
});

it('keeps a handler active in its file when only the configuration has switched it off', async () => {
  const handler = handlerIn(engine.eventHandlers);
  Object.assign(handler ?? {}, { condition: 'true' });
  expect((await run('dump')).exitCode).toBe(2);
  expect(await run('dump', ['--force'])).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readHandler()).toMatchObject({ condition: 'true', active: true });
});

it('writes into its file that a handler was switched off in the engine by hand', async () => {
  await run('register', [], queue);
  Object.assign(handlerIn(engine.eventHandlers) ?? {}, { active: false });
  expect((await run('dump', ['--force'], queue)).stdout).toMatch(/: 0 new, 1 changed, /);
  expect(readHandler()).toMatchObject({ active: false });
});
