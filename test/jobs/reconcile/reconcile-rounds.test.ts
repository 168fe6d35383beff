// Tests of reconcile rounds on an in-memory index: retries, reloads and duplicates.

import { beforeEach, describe, expect, it } from 'vitest';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { createInbound, reconcilerRoute } from '#lib/envelope/inbound.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { ReconcileRounds } from '../../../jobs/reconcile/reconcile-rounds.ts';
import { createEngineIndex, type EngineIndex } from './engine-index.ts';

const product = definitionsFor();
const afterMs = 60_000;
const day = 86_400_000;

/** Returns the product's definitions with a version 3 of the workflow that handles a PATCH. */
function withVersion3(definitions: Definitions): Definitions {
  const { workflows } = definitions;
  const added = workflows
    .filter(({ definition }) => definition.name === 'college-adaptorWF' && definition.version === 2)
    .map((file) => ({ ...file, definition: { ...file.definition, version: 3 } }));
  return { ...definitions, workflows: [...workflows, ...added] };
}

let engine: EngineIndex;
/** Wall clock of the router and of the engine. */
let now: number;
/** Monotonic clock of the router. */
let elapsed: number;
let mdmDefinitions: MdmDefinitions;
let queueSizes: Record<string, number>;

beforeEach(() => {
  engine = createEngineIndex();
  queueSizes = {};
  now = 1_795_275_400_000;
  elapsed = 0;
  mdmDefinitions = new MdmDefinitions(product);
});

const reconcile = () =>
  new ReconcileRounds({
    api: engine.api,
    get mdmDefinitions() {
      return mdmDefinitions;
    },
    codec: createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] }),
    readQueueSizes: async () => queueSizes,
    ...{ afterMs, lookBackMs: day, now: () => now, monotonicNow: () => elapsed },
  });

const outbound = createOutbound({ status: 200, headers: {}, body: Buffer.from('{"sisPersonId":"p1","cccid":"C1"}') });
const task = (referenceTaskName: string, fields: Partial<ExecutedTask>): ExecutedTask => ({
  taskId: `t-${referenceTaskName}`,
  taskType: referenceTaskName,
  referenceTaskName,
  status: 'COMPLETED',
  pollCount: 1,
  startTime: now - 71_000,
  endTime: now - 70_000,
  ...fields,
});
const execution = (workflowName: string, fields: Partial<WholeExecution>): WholeExecution => ({
  workflowId: `e-${workflowName}`,
  workflowName,
  workflowVersion: 1,
  status: 'COMPLETED',
  startTime: now - 72_000,
  endTime: now - 70_000,
  input: {},
  output: {},
  tasks: [],
  ...fields,
});
const patch = (fields: Partial<WholeExecution> = {}): WholeExecution =>
  execution('college-adaptorWF', {
    workflowId: 'patch-1',
    workflowVersion: 2,
    input: { inbound: { httpMethod: 'PATCH', path: '/persons/p1', params: { mis: '001' }, requestId: 'r-1' } },
    output: { outbound },
    tasks: [task('college-adaptor_intake', { outputData: { outbound } })],
    ...fields,
  });

const system = (misCode: string) => ({ misCode, sisPersonId: `q-${misCode}`, cccid: 'C1' });
const notification = (...colleges: string[]): WholeExecution => {
  const interestedSystems = colleges.map(system);
  return execution('mdmWF', {
    workflowId: 'notification-1',
    correlationId: 'patch-1',
    input: { mis: '001', requestId: 'r-1', executionId: 'patch-1' },
    output: { notificationId: 'n-1', interestedSystems },
    tasks: [task('mdm_notify', { outputData: { notificationId: 'n-1', interestedSystems } })],
  });
};
const share = (workflowId: string, misCode: string): WholeExecution =>
  execution('mdm-shareWF', {
    ...{ workflowId, correlationId: 'patch-1' },
    input: { ...system(misCode), requestId: 'r-1', sourceExecutionId: 'patch-1' },
    output: { status: 'shared' },
  });
const requestOf = (person: string) => ({
  ...{ httpMethod: 'PATCH', path: `/persons/${person}`, query: undefined, params: { mis: '001' }, headers: {} },
  ...{ requestId: 'r-1', clientId: 'demo', route: 'adaptor' },
});
/** Returns a PATCH with an unknown outcome. */
const timedOut = (workflowId: string, mis: string): WholeExecution => {
  const inbound = createInbound({ ...requestOf('p1'), params: { mis }, body: Buffer.from('{"cccid":"C1"}') });
  const tasks = [task('college-adaptor_intake', { status: 'TIMED_OUT' })];
  return patch({ workflowId, status: 'TIMED_OUT', output: {}, input: { inbound }, tasks });
};
const passTime = (ms: number) => {
  now += ms;
  elapsed += ms;
};
const names = () => engine.started.map(({ name }) => name);

describe('shares of several colleges', () => {
  beforeEach(() => (mdmDefinitions = new MdmDefinitions(definitionsFor(['002', '003']))));

  it('a duplicate for one college does not hide the missing share of another', async () => {
    for (const each of [notification('002', '003'), share('s-1', '002'), share('s-2', '002')]) engine.put(each);
    const { findings } = await reconcile().run();
    expect(findings).toMatchObject([{ executionId: 'notification-1', case: 'share_lost', action: 'started' }]);
    expect(engine.started).toMatchObject([{ name: 'mdm-shareWF', input: { misCode: '003' } }]);
  });

  it('a share for each college → settled without reading an execution', async () => {
    for (const each of [notification('002', '003'), share('s-1', '002'), share('s-2', '003')]) engine.put(each);
    expect(await reconcile().run()).toMatchObject({ findings: [], inspected: 0 });
  });
});

it('a PATCH that is retried and completes between two rounds is seen again', async () => {
  const reason = 'back-end-unreachable: no connection; nothing was changed';
  const tasks = [task('college-adaptor_intake', { status: 'FAILED', reasonForIncompletion: reason })];
  engine.put(patch({ status: 'FAILED', output: {}, tasks }));
  engine.put(patch({ workflowId: 'patch-2', startTime: now - 65_000, endTime: now - 64_000 }));
  engine.put({ ...notification(), correlationId: 'patch-2' });
  const rounds = reconcile();
  expect(await rounds.run()).toMatchObject({ findings: [] });

  now += 600_000;
  engine.put(patch({ startTime: now - 672_000, tasks: [...tasks, ...patch().tasks] }));
  const { findings } = await rounds.run();
  expect(findings).toMatchObject([{ executionId: 'patch-1', case: 'event_lost', action: 'started' }]);
  expect(names()).toEqual(['mdmWF']);
});

it('a share that failed after it was inspected and that an operator retries is inspected again', async () => {
  const queued = { status: 'SCHEDULED', pollCount: 0, startTime: 0, endTime: 0 };
  engine.put({ ...share('s-1', '002'), status: 'RUNNING', endTime: 0, tasks: [task('mdm_share', queued)] });
  const rounds = reconcile();
  expect(await rounds.run()).toMatchObject({ inspected: 1, findings: [] });
  passTime(2 * afterMs);
  const failed = task('mdm_share', { status: 'FAILED' });
  engine.put({ ...share('s-1', '002'), status: 'FAILED', endTime: now, tasks: [failed] });
  expect(await rounds.run()).toMatchObject({ inspected: 1, findings: [] });
  passTime(day);
  // The engine was killed during the retry, before it stored the next attempt.
  engine.put({ ...share('s-1', '002'), status: 'RUNNING', endTime: 0, tasks: [{ ...failed, retried: true }] });
  expect((await rounds.run()).findings).toMatchObject([{ executionId: 's-1', case: 'never_retried' }]);
});

it('rows leave an index of many pages while the index is read → every execution is seen', async () => {
  for (let at = 0; at < 300; at++) {
    engine.put(patch({ workflowId: `patch-${at}`, endTime: now - 500_000 + at * 1_000 }));
  }
  const { search } = engine.api;
  let pages = 0;
  engine.api.search = async (...query) => {
    // After the first page has been read, an operator retries the first executions, so they run again.
    if (++pages === 3)
      for (let at = 0; at < 40; at++) engine.put(patch({ workflowId: `patch-${at}`, status: 'RUNNING', endTime: 0 }));
    return search.apply(engine.api, query);
  };
  const rounds = reconcile();
  const seen = new Set<string>();
  for (let round = 0; round < 8; round++) {
    for (const { executionId } of (await rounds.run()).findings) seen.add(executionId);
  }
  expect(Array.from({ length: 260 }, (_, at) => `patch-${at + 40}`).filter((id) => !seen.has(id))).toEqual([]);
});

it('finds a PATCH that has stayed paused since its worker responded', async () => {
  engine.put(patch({ status: 'PAUSED', endTime: 0, output: {} }));
  const { findings, unreconciled } = await reconcile().run({ dryRun: true });
  expect(findings).toMatchObject([{ executionId: 'patch-1', case: 'event_stuck', wouldBe: 'resume' }]);
  expect(unreconciled.get('event_stuck')).toBe(1);
});

it('inspects a paused execution once while nothing is missing, and waits', async () => {
  const untouched = task('college-adaptor_intake', { status: 'SCHEDULED', pollCount: 0, startTime: 0, endTime: 0 });
  engine.put(patch({ status: 'PAUSED', endTime: 0, output: {}, tasks: [untouched] }));
  engine.put(execution('moviesWF', { status: 'PAUSED', endTime: 0, tasks: [untouched] }));
  const rounds = reconcile();
  expect(await rounds.run()).toMatchObject({ scanned: 2, inspected: 2, findings: [] });
  expect(await rounds.run()).toMatchObject({ scanned: 2, inspected: 0, findings: [] });
});

describe('a reload of the definitions', () => {
  it('a lost event of an unknown version is counted and named, and is repaired once the version is known', async () => {
    engine.put(patch({ workflowVersion: 3 }));
    const rounds = reconcile();
    const { findings, unreconciled } = await rounds.run();
    expect(findings).toMatchObject([
      {
        executionId: 'patch-1',
        case: 'unknown_version',
        action: 'none',
        reason: expect.stringContaining('college-adaptorWF version 3'),
      },
    ]);
    expect(unreconciled.get('unknown_version')).toBe(1);
    mdmDefinitions = new MdmDefinitions(withVersion3(product));
    expect((await rounds.run()).findings).toMatchObject([{ case: 'event_lost', action: 'started' }]);
    expect(names()).toEqual(['mdmWF']);
    expect((await rounds.run()).unreconciled.get('unknown_version')).toBe(0);
  });

  it('a PATCH of an unknown version is not counted when MDM was notified or the adaptor rejected it', async () => {
    engine.put(patch({ workflowVersion: 3 }));
    engine.put(notification());
    const refused = createOutbound({ status: 404, headers: {}, body: Buffer.alloc(0) });
    engine.put(patch({ workflowId: 'patch-2', workflowVersion: 3, output: { outbound: refused } }));
    expect(await reconcile().run()).toMatchObject({ findings: [] });
  });

  it('an mdmWF execution of an unknown version is also counted when MDM named an interested system', async () => {
    engine.put({ ...notification('002'), workflowVersion: 7 });
    expect((await reconcile().run()).findings).toMatchObject([{ case: 'unknown_version', action: 'none' }]);
  });

  it('a handler is added for one more college → missing shares of that college are found in earlier rows', async () => {
    engine.put(notification('003'));
    // A later execution advances the scan, so that it does not read earlier rows again.
    engine.put({ ...notification(), workflowId: 'notification-2', startTime: now - 66_000, endTime: now - 65_000 });
    const rounds = reconcile();
    for (let round = 0; round < 2; round++) expect(await rounds.run()).toMatchObject({ findings: [] });
    mdmDefinitions = new MdmDefinitions(definitionsFor(['002', '003']));
    expect((await rounds.run()).findings).toMatchObject([{ case: 'share_lost', action: 'started' }]);
  });
});

describe('a notification whose event is late', () => {
  const queue = 'college-adaptorWF:person_patched';
  const minute = 60_000;
  const patchAt = (workflowId: string, endTime: number) =>
    patch({ workflowId, startTime: endTime - 1_000, endTime, tasks: patch().tasks });
  const notificationOf = (correlationId: string) => ({
    ...notification(),
    ...{ workflowId: `n-${correlationId}`, correlationId, startTime: now, endTime: now },
  });

  it('is left to the queue of the event, and is started once later events have been handled', async () => {
    queueSizes = { [queue]: 3, mdm_notify: 1 };
    engine.put(patchAt('patch-1', now - 2 * minute));
    engine.put(patchAt('patch-2', now - 90_000));
    const rounds = reconcile();
    expect(await rounds.run()).toMatchObject({ findings: [], inspected: 0, isComplete: true });
    engine.put(notificationOf('patch-2'));
    now += minute;
    expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', action: 'started' }]);
  });

  it('is started when the queue is empty, and when the event has waited for too long', async () => {
    queueSizes = { [queue]: 0 };
    engine.put(patchAt('patch-1', now - 2 * minute));
    expect((await reconcile().run()).findings).toMatchObject([{ executionId: 'patch-1', action: 'started' }]);
    queueSizes = { [queue]: 1 };
    engine.put(patchAt('patch-2', now - 5 * minute));
    const { findings } = await reconcile().run();
    expect(findings).toMatchObject([{ executionId: 'patch-2' }]);
  });

  it('is not started again when the engine handles the event during the round', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `patch-${at}`);
    for (const [at, id] of ids.entries()) engine.put(patchAt(id, now - 2 * minute + at));
    engine.beforeCall = ({ method, path }) => {
      if (method === 'POST' && path === '/api/workflow') engine.put(notificationOf('patch-59'));
    };
    const { findings } = await reconcile().run();
    expect(findings.map(({ executionId }) => executionId)).toEqual(ids.slice(0, 59));
  });
});

it('finds an execution whose row entered the index long after its end', async () => {
  const rounds = reconcile();
  engine.put(patch({ workflowId: 'patch-2', startTime: now - 62_000, endTime: now - 61_000 }));
  engine.put({ ...notification(), correlationId: 'patch-2' });
  expect((await rounds.run()).findings).toEqual([]);
  engine.put(patch({ endTime: now - 400_000 }));
  now += 60_000;
  expect((await rounds.run()).findings).toEqual([]);
  now += 900_000;
  expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', case: 'event_lost' }]);
});

it('immediately finds a PATCH that ended during long inspections', async () => {
  const held = task('college-adaptor_intake', { status: 'IN_PROGRESS', endTime: 0, responseTimeoutSeconds: 10_000 });
  engine.put(patch({ status: 'RUNNING', endTime: 0, output: {}, tasks: [held] }));
  const rounds = reconcile();
  for (let at = 0; at < 30; at++, now += 60_000) expect((await rounds.run()).findings).toEqual([]);
  engine.put(patch({ endTime: now, startTime: now - 1_900_000 }));
  now += 61_000;
  expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', action: 'started' }]);
});

describe('a clock that was ahead and is corrected', () => {
  it('a PATCH that ended in between is found', async () => {
    now += day;
    const rounds = reconcile();
    expect(await rounds.run()).toMatchObject({ findings: [] });
    now -= day;
    engine.put(patch());
    expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', case: 'event_lost' }]);
  });

  it('by several small steps → a PATCH that ended in between is found', async () => {
    now += 600_000;
    const rounds = reconcile();
    await rounds.run();
    for (let step = 0; step < 12; step++, now -= 50_000) await rounds.run();
    engine.put(patch());
    expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', case: 'event_lost' }]);
  });

  it('by less than the grace period → no row is read again', async () => {
    engine.put(patch({ endTime: now - 3_600_000 }));
    engine.put({ ...notification(), endTime: now - 3_600_000 });
    const rounds = reconcile();
    expect(await rounds.run()).toMatchObject({ scanned: 2 });
    now -= 50_000;
    expect(await rounds.run()).toMatchObject({ scanned: 0 });
    now -= 50_000;
    expect(await rounds.run()).toMatchObject({ scanned: 2 });
  });

  it('a back end whose pause was measured by the wrong clock is probed', async () => {
    engine.put(timedOut('patch-1', '001'));
    engine.outcomeOf = () => ({ status: 'FAILED' });
    now += day;
    const rounds = reconcile();
    await rounds.run();
    await rounds.run();
    now -= day;
    expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', action: 'asked' }, {}]);
  });
});

it('a reconciler terminated a notification, and the engine was killed before the retry → the next round retries it', async () => {
  const overdue = { status: 'IN_PROGRESS', endTime: 0, responseTimeoutSeconds: 1 };
  engine.put(patch());
  engine.put({ ...notification(), status: 'RUNNING', endTime: 0, output: {}, tasks: [task('mdm_notify', overdue)] });
  engine.beforeCall = ({ path }) => {
    if (path.includes('/retry')) throw new EngineError('unreachable', 'killed');
  };
  const rounds = reconcile();
  await rounds.run();
  passTime(61_000);
  const { failure, findings } = await rounds.run();
  expect([failure, findings]).toMatchObject([{ kind: 'unreachable' }, []]);
  expect((await engine.api.readWhole('notification-1'))?.status).toBe('TERMINATED');
  engine.beforeCall = () => undefined;
  const repaired = [{ executionId: 'notification-1', case: 'outcome_unknown', action: 'retried' }];
  expect((await rounds.run()).findings).toMatchObject(repaired);
});

it('reports what it repaired before the engine was killed', async () => {
  for (const id of ['patch-1', 'patch-2']) engine.put(patch({ workflowId: id }));
  let starts = 0;
  engine.beforeCall = ({ method, path }) => {
    if (method === 'POST' && path === '/api/workflow' && ++starts === 2) throw new EngineError('unreachable', 'killed');
  };
  const rounds = reconcile();
  const report = await rounds.run();
  expect(report).toMatchObject({
    findings: [{ action: 'started' }],
    failure: { kind: 'unreachable' },
    isComplete: false,
  });
  expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-2', action: 'started' }]);
});

it('finds a lost event while ten thousand executions wait for MDM', async () => {
  const queued = task('mdm_notify', { status: 'SCHEDULED', pollCount: 0, startTime: 0, endTime: 0 });
  for (let at = 0; at < 10_001; at++) {
    engine.put(execution('mdmWF', { workflowId: `waiting-${at}`, status: 'RUNNING', endTime: 0, tasks: [queued] }));
  }
  const rounds = reconcile();
  let isComplete = false;
  for (let round = 0; round < 60 && !isComplete; round++) ({ isComplete } = await rounds.run());
  expect(isComplete, 'the next round is not due at once').toBe(true);
  now += 10_000;
  engine.put(patch({ startTime: now - 72_000, endTime: now - 70_000 }));
  expect((await rounds.run()).findings).toMatchObject([{ executionId: 'patch-1', case: 'event_lost' }]);
});

it('tries each repair once while the engine does not respond to starts, and reaches every execution', async () => {
  for (let at = 0; at < 250; at++) engine.put(patch({ workflowId: `patch-${at}` }));
  const tried: unknown[] = [];
  engine.beforeCall = ({ method, path, body }) => {
    if (method !== 'POST' || path !== '/api/workflow') return;
    tried.push(JSON.parse(String(body)).correlationId);
    throw new EngineError('interrupted', 'no response');
  };
  const rounds = reconcile();
  expect([(await rounds.run()).isComplete, (await rounds.run()).isComplete]).toEqual([false, true]);
  expect([tried.length, new Set(tried).size]).toEqual([250, 250]);
});

describe('a PATCH whose worker has not reported', () => {
  const withWorker = (fields: Partial<ExecutedTask> = {}) => {
    const held = task('college-adaptor_intake', { status: 'IN_PROGRESS', endTime: 0, responseTimeoutSeconds: 90 });
    engine.put(patch({ status: 'RUNNING', endTime: 0, output: {}, tasks: [{ ...held, ...fields }] }));
  };
  const ended = { executionId: 'patch-1', case: 'outcome_unknown', action: 'terminated', started: [] };
  /** Runs a round and returns its findings about executions that it terminated. */
  const round = async (rounds: ReconcileRounds) =>
    (await rounds.run()).findings.filter(({ action }) => action === 'terminated');

  it('is ended only once the reconciler has measured the timeout, even if the router clock is ahead', async () => {
    withWorker();
    now += 160_000;
    const rounds = reconcile();
    expect(await round(rounds)).toEqual([]);
    passTime(60_000);
    expect(await round(rounds)).toEqual([]);
    passTime(120_000);
    expect(await round(rounds)).toEqual([ended]);
  });

  it('is not ended when the clock of the router is set forward', async () => {
    withWorker();
    const rounds = reconcile();
    expect(await round(rounds)).toEqual([]);
    now += 600_000;
    expect(await round(rounds)).toEqual([]);
  });

  it('is not ended while its worker extends the lease', async () => {
    withWorker();
    const rounds = reconcile();
    for (const ms of [60_000, 120_000, 240_000]) {
      expect(await round(rounds)).toEqual([]);
      passTime(ms);
      withWorker({ updateTime: now });
    }
    expect(await round(rounds)).toEqual([]);
  });
});

describe('probes', () => {
  const probeOf = (source: string, fields: Partial<ExecutedTask>) =>
    execution('college-adaptorWF', {
      ...{ workflowId: `probe-of-${source}`, correlationId: source, status: 'RUNNING', endTime: 0 },
      input: { inbound: { httpMethod: 'GET', route: reconcilerRoute } },
      tasks: [task('college-adaptor_intake', { endTime: 0, responseTimeoutSeconds: 90, ...fields })],
    });

  it('that wait for the stopped workers of two colleges do not delay the probe of a third college', async () => {
    for (const mis of ['002', '003']) {
      engine.put({ ...timedOut(`patch-${mis}`, mis), taskToDomain: { '*': mis } });
      engine.put(probeOf(`patch-${mis}`, { status: 'SCHEDULED', pollCount: 0, startTime: 0 }));
    }
    const rounds = reconcile();
    expect((await rounds.run()).findings).toMatchObject([{ action: 'none' }, { action: 'none' }]);
    engine.put(timedOut('patch-001', '001'));
    engine.outcomeOf = () => ({ output: { outbound } });
    expect((await rounds.run()).findings).toContainEqual(
      expect.objectContaining({ executionId: 'patch-001', action: 'asked' }),
    );
  });

  it('that hang are terminated, and the back end is probed again', async () => {
    engine.put(timedOut('patch-1', '001'));
    engine.put(probeOf('patch-1', { status: 'IN_PROGRESS', startTime: now - 150_000 }));
    engine.now = () => now;
    const rounds = reconcile();
    await rounds.run();
    passTime(afterMs);
    await rounds.run();
    passTime(2 * afterMs);
    expect((await rounds.run()).findings).toContainEqual({
      ...{ executionId: 'probe-of-patch-1', case: 'outcome_unknown', action: 'terminated', started: [] },
    });
    engine.outcomeOf = () => ({ startTime: now, output: { outbound } });
    now += 2 * afterMs;
    await rounds.run();
    now += 2 * afterMs;
    await rounds.run();
    expect(names()).toEqual(['college-adaptorWF', 'mdmWF']);
    expect([...(await rounds.run()).unreconciled.values()].every((count) => count === 0)).toBe(true);
  });
});

describe('a backlog', () => {
  it('is repaired over several rounds, with at most eight concurrent calls', async () => {
    for (let at = 0; at < 500; at++) engine.put(patch({ workflowId: `patch-${at}` }));
    let [open, most] = [0, 0];
    engine.beforeCall = async ({ path }) => {
      if (path.startsWith('/api/workflow/search')) return;
      most = Math.max(most, ++open);
      await new Promise(setImmediate);
      open--;
    };
    const rounds = reconcile();
    const reports = [await rounds.run(), await rounds.run(), await rounds.run()];
    expect(reports.map(({ inspected, isComplete }) => [inspected, isComplete])).toEqual([
      [200, false],
      [200, false],
      [100, true],
    ]);
    expect(engine.started.length).toBe(500);
    expect(most).toBe(8);
  });

  it('of unknown outcomes: at most four probes run at a time, and each is evaluated as soon as it ends', async () => {
    for (let at = 0; at < 20; at++) engine.put(timedOut(`patch-${at}`, '001'));
    let [asking, most] = [0, 0];
    engine.outcomeOf = ({ name }) => {
      if (name === 'mdmWF') asking--;
      else most = Math.max(most, ++asking);
      return { output: { outbound } };
    };
    const { findings, isComplete } = await reconcile().run();
    expect(findings.filter(({ action }) => action === 'started').length).toBe(20);
    expect([isComplete, most]).toEqual([true, 4]);
  });
});
