// Tests of `register`, which is `apply --yes`: it writes in dependency order, and writes only what has changed.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CopyOfProduct, copyOfProduct } from '../lib/conductor/definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from '../lib/conductor/metadata/fake-engine.ts';
import { runCli } from './run-cli.ts';

let copy: CopyOfProduct;
let engine: FakeEngine;
beforeEach(async () => {
  [copy, engine] = [copyOfProduct(), await startFakeEngine()];
});
afterEach(async () => {
  copy.dispose();
  await engine.stop();
});

const register = (...options: string[]) => runCli(['register', '--engine', engine.url, '--dir', copy.dir, ...options]);
/** Returns the write requests that the engine receives while `run` runs. */
async function writesOf(run: () => Promise<unknown>): Promise<readonly string[]> {
  const before = engine.writes.length;
  await run();
  return engine.writes.slice(before);
}

describe('service-router register', () => {
  it('adds everything to an empty engine: task types, then workflows, then handlers', async () => {
    const { exitCode, stdout } = await register();
    expect({ exitCode, stdout }).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/ changes made; the engine/),
    });
    const kinds = engine.writes.map((write) => write.replace('POST /api/', ''));
    expect(kinds).toEqual([...kinds].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
    expect(new Set(kinds)).toEqual(new Set(order));
  });
  const order = ['metadata/taskdefs', 'metadata/workflow', 'event'];

  it('writes nothing when it runs again', async () => {
    await register();
    expect(await writesOf(register)).toEqual([]);
    expect((await register()).stdout).toMatch(/: no changes; \d+ unchanged\n$/);
  });

  it('updates an existing task type and an existing handler, each with its update call', async () => {
    await register();
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    copy.set('event-handlers/mdm.json', ['active'], false);
    expect(await writesOf(register)).toEqual(['PUT /api/metadata/taskdefs', 'PUT /api/event']);
  });

  it('a changed workflow version: without --force, writes nothing, exit 2; with --force, overwrites it', async () => {
    await register();
    copy.set('workflows/moviesWF.v1.json', ['description'], 'Better.');
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    expect(await writesOf(register)).toEqual([]);
    expect((await register()).exitCode).toBe(2);
    expect((await register('--force')).exitCode).toBe(0);
    expect(engine.workflows.find(({ name }) => name === 'moviesWF')).toMatchObject({ description: 'Better.' });
  });

  it('adds a new version beside a published one without --force', async () => {
    await register();
    copy.rename('workflows/moviesWF.v1.json', 'workflows/moviesWF.v2.json');
    copy.set('workflows/moviesWF.v2.json', ['version'], 2);
    expect(await writesOf(register)).toEqual(['POST /api/metadata/workflow']);
  });

  it('--dry-run: writes nothing, exit 2 while there are changes to make', async () => {
    expect(await writesOf(async () => expect((await register('--dry-run')).exitCode).toBe(2))).toEqual([]);
    await register();
    expect((await register('--dry-run')).exitCode).toBe(0);
  });

  it('prints the reason when the engine refuses a definition in a response with 200, exit 1', async () => {
    await register();
    copy.set('workflows/moviesWF.v1.json', ['description'], 'Better.');
    engine.refuses.add('moviesWF');
    const { exitCode, stderr } = await register('--force');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('database is locked') });
  });

  it('prints the reasons for a validation error, exit 1', async () => {
    const error = '{"message":"Validation failed","validationErrors":[{"path":"a.b","message":"is required"}]}';
    const strict = createServer((request, response) => {
      request.resume();
      response.writeHead(request.method === 'GET' ? 200 : 400).end(request.method === 'GET' ? '[]' : error);
    });
    await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(strict.address() as AddressInfo).port}`;
    const { exitCode, stderr } = await runCli(['register', '--engine', url, '--dir', copy.dir]);
    strict.closeAllConnections();
    strict.close();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('POST /api/metadata/taskdefs responded with 400: Validation failed; a.b: is required');
  });
});
