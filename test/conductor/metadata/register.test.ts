import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadDefinitions } from '../../../conductor/definitions/load-definitions.ts';
import { Engine } from '../../../conductor/engine.ts';
import { MetadataApi } from '../../../conductor/metadata/metadata-api.ts';
import { register } from '../../../conductor/metadata/register.ts';
import { type CopyOfProduct, copyOfProduct } from '../definitions/copy-of-product.ts';
import { type FakeEngine, startFakeEngine } from './fake-engine.ts';

let copy: CopyOfProduct;
let fake: FakeEngine;
let engine: Engine;
let api: MetadataApi;
beforeEach(async () => {
  copy = copyOfProduct();
  fake = await startFakeEngine();
  engine = new Engine({ url: fake.url, timeoutMs: 2_000, connections: 2 });
  api = new MetadataApi((request) => engine.request(request));
});
afterEach(async () => {
  copy.dispose();
  await engine.close();
  await fake.stop();
});

const run = (options: Partial<{ force: boolean; dryRun: boolean }> = {}) =>
  register(loadDefinitions(copy.dir), api, { force: false, dryRun: false, ...options });
const statesOf = ({ definitions }: Awaited<ReturnType<typeof run>>) =>
  Object.fromEntries(definitions.map(({ file, state }) => [file, state]));

describe('registration', () => {
  it('on an empty engine: everything is created, handlers last and workflows after their task types', async () => {
    const { outcome, definitions } = await run();
    expect(outcome).toBe('done');
    expect(new Set(definitions.map(({ state }) => state))).toEqual(new Set(['created']));
    const kinds = fake.writes.map((write) => write.replace('POST /api/', ''));
    expect(kinds).toEqual([...kinds].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
    expect(new Set(kinds)).toEqual(new Set(order));
  });
  const order = ['metadata/taskdefs', 'metadata/workflow', 'event'];

  it('done twice: the second time changes and writes nothing', async () => {
    await run();
    const before = fake.writes.length;
    expect(new Set(Object.values(statesOf(await run())))).toEqual(new Set(['unchanged']));
    expect(fake.writes).toHaveLength(before);
  });

  it('a changed task type and a changed handler: updated, each with the verb for what exists', async () => {
    await run();
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    copy.set('event-handlers/mdm.json', ['active'], false);
    const before = fake.writes.length;
    const registration = await run();
    expect(registration.outcome).toBe('done');
    expect(fake.writes.slice(before)).toEqual(['PUT /api/metadata/taskdefs', 'PUT /api/event']);
    expect(statesOf(registration)).toMatchObject({
      'workflows/tasks/mdm_notify.json': 'changed',
      'event-handlers/mdm.json': 'changed',
      'event-handlers/mdm-share-002.json': 'unchanged',
    });
  });

  it('a changed workflow version: refused, and not even the rest is written', async () => {
    await run();
    copy.set('workflows/moviesWF.v1.json', ['restartable'], true);
    copy.set('workflows/tasks/mdm_notify.json', ['retryCount'], 7);
    const before = fake.writes.length;
    const { outcome, definitions } = await run();
    expect(outcome).toBe('refused');
    expect(definitions.find(({ name }) => name === 'moviesWF')).toMatchObject({
      state: 'changed',
      differences: [{ path: 'restartable', engine: false }],
    });
    expect(fake.writes).toHaveLength(before);
  });

  it('a changed workflow version, forced: overwritten', async () => {
    await run();
    copy.set('workflows/moviesWF.v1.json', ['description'], 'Better.');
    expect((await run({ force: true })).outcome).toBe('done');
    expect(fake.workflows.find(({ name }) => name === 'moviesWF')).toMatchObject({ description: 'Better.' });
  });

  it('a new version beside a published one: created without force', async () => {
    await run();
    copy.set('workflows/moviesWF.v1.json', ['version'], 2);
    copy.rename('workflows/moviesWF.v1.json', 'workflows/moviesWF.v2.json');
    expect(statesOf(await run())).toMatchObject({ 'workflows/moviesWF.v2.json': 'created' });
    expect(fake.workflows.filter(({ name }) => name === 'moviesWF').map(({ version }) => version)).toEqual([1, 2]);
  });

  it('a dry run: says what would be done and writes nothing', async () => {
    expect(await run({ dryRun: true })).toMatchObject({ outcome: 'planned' });
    expect(fake.writes).toEqual([]);
  });

  it('a refusal inside a 200: an error with the reason', async () => {
    await run();
    copy.set('workflows/moviesWF.v1.json', ['description'], 'Better.');
    fake.refuses.add('moviesWF');
    await expect(run({ force: true })).rejects.toThrow('was refused: moviesWF: database is locked');
  });

  it('an address that is no engine: an error that says so', async () => {
    const stranger = new MetadataApi(async () => ({ status: 200, headers: {}, body: Buffer.from('<html>') }));
    await expect(register(loadDefinitions(copy.dir), stranger, { force: false, dryRun: false })).rejects.toThrow(
      'is this address a Conductor server?',
    );
  });

  it('a validation error of the engine: its reasons are in the message', async () => {
    const strict = new MetadataApi(async ({ method }) =>
      method === 'GET'
        ? { status: 200, headers: {}, body: Buffer.from('[]') }
        : {
            status: 400,
            headers: {},
            body: Buffer.from(
              '{"message":"Validation failed","validationErrors":[{"path":"a.b","message":"is required"}]}',
            ),
          },
    );
    await expect(register(loadDefinitions(copy.dir), strict, { force: false, dryRun: false })).rejects.toThrow(
      'POST /api/metadata/taskdefs answered 400: Validation failed; a.b: is required',
    );
  });
});
