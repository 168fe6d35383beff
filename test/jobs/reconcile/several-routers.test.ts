// Tests of several routers without Redis that reconcile the same executions: whatever the order in which their calls
// interleave, the routers converge.

import { expect, it } from 'vitest';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { createInbound } from '#lib/envelope/inbound.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { ReconcileRounds } from '../../../jobs/reconcile/reconcile-rounds.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { byDepth } from '../../run/depth.ts';
import { createEngineIndex, type EngineIndex } from './engine-index.ts';

const afterMs = 60_000;
const orders = Array.from({ length: byDepth(5, 20) }, (_, seed) => seed + 1);
const mdmDefinitions = new MdmDefinitions(definitionsFor());
const codec = createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] });

/** Returns a generator of numbers from 0 to 1 (mulberry32). The same seed yields the same numbers. */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Routers on one engine. Their calls take effect one at a time, in an order that the seed determines. */
class Routers {
  readonly engine: EngineIndex = createEngineIndex();
  now = 1_795_275_400_000;
  readonly #rounds: readonly ReconcileRounds[];
  readonly #next: () => number;
  readonly #held: (() => void)[] = [];
  #onHeld = () => {};

  constructor(count: number, seed: number) {
    const { engine } = this;
    this.#next = numbersOf(seed);
    engine.now = () => this.now;
    engine.beforeCall = () =>
      new Promise((resolve) => {
        this.#held.push(() => resolve());
        this.#onHeld();
      });
    this.#rounds = Array.from(
      { length: count },
      () =>
        new ReconcileRounds({
          ...{ api: engine.api, mdmDefinitions, codec, afterMs, lookBackMs: 86_400_000 },
          readQueueSizes: async () => ({}),
          ...{ now: () => this.now, monotonicNow: () => this.now },
        }),
    );
  }

  /**
   * Runs a round on every router concurrently, then lets `msAfter` milliseconds pass.
   * @returns the number of unreconciled executions by router
   */
  async runRounds(msAfter = 30_000): Promise<number[]> {
    let running = this.#rounds.length;
    const ended = Promise.all(this.#rounds.map((rounds) => rounds.run().finally(() => running--)));
    while (running > 0) {
      await new Promise(setImmediate);
      // A round that has not found its probe waits for a second before it searches again. Meanwhile, no call is held.
      if (this.#held.length === 0)
        await Promise.race([ended, new Promise<void>((resolve) => (this.#onHeld = resolve))]);
      this.#held.splice(Math.floor(this.#next() * this.#held.length), 1)[0]?.();
    }
    const results = await ended;
    for (const { failure } of results) expect(failure).toBeUndefined();
    this.now += msAfter;
    return results.map(({ unreconciled }) => [...unreconciled.values()].reduce((sum, count) => sum + count, 0));
  }
}

const work = {
  mdmWF: { mis: '001', requestId: 'r-1', executionId: 'patch-1' },
  'mdm-shareWF': { misCode: '002', sisPersonId: 'p1', cccid: 'C1', requestId: 'r-1', sourceExecutionId: 'patch-1' },
};
type Name = keyof typeof work;
const names = Object.keys(work) as Name[];

function taskOf(name: string, fields: Partial<ExecutedTask>): ExecutedTask {
  const type = name === 'mdmWF' ? 'mdm_notify' : 'mdm_share';
  return { taskId: `task-${type}`, taskType: type, referenceTaskName: type, status: 'SCHEDULED', ...fields };
}

function executionOf(name: Name, now: number, fields: Partial<WholeExecution>): WholeExecution {
  return {
    ...{ workflowId: 'original', workflowName: name, workflowVersion: 1, correlationId: 'patch-1' },
    ...{ status: 'RUNNING', startTime: now - 300_000, endTime: 0, input: work[name], output: {}, tasks: [] },
    ...fields,
  };
}

const interrupted = (now: number) =>
  ({
    status: 'TERMINATED',
    endTime: now - 200_000,
    reasonForIncompletion: 'reconciler: its worker did not report in time',
  }) as const;

/** Faulty executions that a reconciler repairs, by fault. */
const faults: Record<string, (name: Name, now: number) => WholeExecution> = {
  'terminated by a reconciler that was killed before its retry': (name, now) =>
    executionOf(name, now, {
      ...interrupted(now),
      tasks: [taskOf(name, { status: 'CANCELED', startTime: 1, endTime: now - 200_000 })],
    }),
  'terminated, with an attempt that a racing retry has scheduled': (name, now) =>
    executionOf(name, now, {
      ...interrupted(now),
      tasks: [
        taskOf(name, { status: 'CANCELED', endTime: now - 200_000 }),
        taskOf(name, { taskId: 't2', retryCount: 1 }),
      ],
    }),
  'terminated without a task': (name, now) => executionOf(name, now, interrupted(now)),
  overdue: (name, now) =>
    executionOf(name, now, {
      tasks: [taskOf(name, { status: 'IN_PROGRESS', startTime: now - 250_000, responseTimeoutSeconds: 60 })],
    }),
  'without a task': (name, now) => executionOf(name, now, {}),
};

/** Hides the follow-up executions of a PATCH from searches of the index. */
function hideFollowersOf(source: string, { api }: EngineIndex): void {
  const { search } = api;
  api.search = async (...query) => {
    const found = await search.apply(api, query);
    return { ...found, executions: found.executions.filter(({ correlationId }) => correlationId !== source) };
  };
}

/** Returns the execution of a PATCH that a worker has taken, with response 200 or with an unknown outcome. */
function patchOf(workflowId: string, now: number, status: 'COMPLETED' | 'TIMED_OUT'): WholeExecution {
  const outbound = createOutbound({ status: 200, headers: {}, body: Buffer.from('{}') });
  const inbound = createInbound({
    ...{ httpMethod: 'PATCH', path: '/persons/p1', query: undefined, params: { mis: '001' }, headers: {} },
    ...{ body: Buffer.from('{"cccid":"C1"}'), requestId: 'r-1', clientId: 'demo', route: 'adaptor' },
  });
  const [startTime, endTime] = [now - 260_000, now - 250_000];
  const output = status === 'COMPLETED' ? { outbound } : {};
  const intake = { status, pollCount: 1, startTime, endTime, outputData: output };
  const { correlationId: _, ...execution } = executionOf('mdmWF', now, { status, startTime, endTime, output });
  return {
    ...{ ...execution, workflowId, workflowName: 'college-adaptorWF', workflowVersion: 2, input: { inbound } },
    tasks: [{ ...taskOf('', intake), referenceTaskName: 'college-adaptor_intake' }],
  };
}

const cases = Object.keys(faults).flatMap((fault) => names.map((name) => [fault, name] as const));

/** Returns the execution that the engine creates for a successful start. */
const scheduled =
  (routers: Routers) =>
  ({ name }: StartWorkflowRequest): Partial<WholeExecution> => ({
    ...{ status: 'RUNNING', startTime: routers.now, tasks: [taskOf(name, {})] },
  });

it.each(cases)('%s: two or three routers repair %s, and each starts it at most once', async (fault, name) => {
  for (const count of [2, 3]) {
    for (const seed of orders) {
      const routers = new Routers(count, seed);
      const { engine } = routers;
      engine.outcomeOf = scheduled(routers);
      engine.put(faults[fault]!(name, routers.now));
      for (let round = 0; round < 8; round++) await routers.runRounds();
      const label = `${count} routers, order ${seed}`;
      // Executions that can be retried are not started again.
      expect(engine.started.length, label).toBeLessThanOrEqual(fault.includes('without') ? count : 0);
      const hasAttempt = [...engine.executions.values()].some(
        (execution) => !hasEnded(execution) && execution.tasks.at(-1)?.status === 'SCHEDULED',
      );
      expect(hasAttempt, `${label}: a worker gets a task`).toBe(true);
    }
  }
});

it.each(names)(
  '%s: executions to which the engine never gives a task are replaced a few times, then left alone',
  async (name) => {
    for (const seed of orders.slice(0, byDepth(2, 3))) {
      const routers = new Routers(2, seed);
      const { engine } = routers;
      engine.outcomeOf = () => ({ status: 'RUNNING', startTime: routers.now });
      engine.put(faults['without a task']!(name, routers.now));
      for (let round = 0; round < 60; round++) await routers.runRounds(60_000);
      expect(engine.started.length).toBeLessThanOrEqual(5);
      const last = engine.executions.get(`started-${engine.started.length}`);
      expect(last?.status, 'the last execution may still run').toBe('RUNNING');
    }
  },
);

it.each(names)('%s: executions whose retry the engine always refuses do not multiply', async (name) => {
  for (const seed of orders.slice(0, byDepth(2, 3))) {
    const routers = new Routers(2, seed);
    const { engine } = routers;
    engine.outcomeOf = () => ({ ...interrupted(routers.now), startTime: routers.now, endTime: routers.now });
    engine.put(faults['terminated without a task']!(name, routers.now));
    for (let round = 0; round < 60; round++) await routers.runRounds(60_000);
    expect(engine.started.length).toBeLessThanOrEqual(5);
  }
});

it('a retry that fails with a 500 is repeated, and replaced by a start after five grace periods', async () => {
  const routers = new Routers(2, 1);
  const { engine } = routers;
  engine.outcomeOf = scheduled(routers);
  engine.api.retry = () =>
    Promise.reject(new EngineError('refused', 'POST /api/workflow/{id}/retry responded with 500', { status: 500 }));
  const tasks = [taskOf('mdmWF', { status: 'CANCELED', endTime: routers.now - 200_000 })];
  engine.put(executionOf('mdmWF', routers.now, { ...interrupted(routers.now), tasks }));
  for (let round = 0; round < 3; round++) await routers.runRounds();
  expect(engine.started).toEqual([]);
  for (let round = 0; round < 12; round++) await routers.runRounds();
  expect([1, 2]).toContain(engine.started.length);
});

it('a probe whose row never enters the index is started once by each router', async () => {
  const routers = new Routers(2, 1);
  const { engine } = routers;
  const outbound = createOutbound({ status: 404, headers: {}, body: Buffer.alloc(0) });
  engine.outcomeOf = ({ correlationId }) =>
    correlationId === 'patch-0'
      ? { startTime: routers.now, endTime: routers.now, output: { outbound } }
      : { status: 'RUNNING', startTime: routers.now, tasks: [taskOf('', {})] };
  hideFollowersOf('patch-1', engine);
  // The response to the first probe raises the limit on concurrent probes.
  for (const id of ['patch-0', 'patch-1']) engine.put(patchOf(id, routers.now, 'TIMED_OUT'));
  for (let round = 0; round < 15; round++) await routers.runRounds(30_000);
  const probes = engine.started.filter(({ correlationId }) => correlationId === 'patch-1');
  expect(probes.map(({ name }) => name)).toEqual(['college-adaptorWF', 'college-adaptorWF']);
});

it('a PATCH whose probe had to wait is inspected when another router has started the probe', async () => {
  const routers = new Routers(1, 1);
  const { engine } = routers;
  engine.outcomeOf = () => ({ status: 'RUNNING', startTime: routers.now, tasks: [taskOf('', {})] });
  for (const id of ['patch-0', 'patch-1']) engine.put(patchOf(id, routers.now, 'TIMED_OUT'));
  expect(await routers.runRounds()).toEqual([2]);
  // Another router has the result of the probe for the first PATCH, and has started the probe for the second.
  const [probe] = engine.started;
  const [first = '', second = ''] =
    probe?.correlationId === 'patch-0' ? ['patch-0', 'patch-1'] : ['patch-1', 'patch-0'];
  const ofOtherRouter = {
    ...probe!,
    correlationId: second,
    workflowName: probe!.name,
    workflowVersion: probe!.version,
  };
  const running = { ...executionOf('mdmWF', routers.now, { startTime: routers.now }), ...ofOtherRouter };
  engine.put(executionOf('mdmWF', routers.now, { workflowId: 'notified', correlationId: first }));
  engine.put({ ...running, workflowId: 'probe' });
  for (let round = 0; round < 3; round++) expect(await routers.runRounds()).toEqual([1]);
  const outbound = createOutbound({ status: 404, headers: {}, body: Buffer.alloc(0) });
  engine.put({ ...running, workflowId: 'probe', status: 'COMPLETED', endTime: routers.now, output: { outbound } });
  expect([await routers.runRounds(), await routers.runRounds()]).toContainEqual([0]);
});

it('a start whose row never enters the index is not repeated', async () => {
  const routers = new Routers(2, 1);
  const { engine } = routers;
  engine.outcomeOf = scheduled(routers);
  hideFollowersOf('patch-1', engine);
  engine.put(patchOf('patch-1', routers.now, 'COMPLETED'));
  for (let round = 0; round < 20; round++) await routers.runRounds();
  expect(engine.started.map(({ name }) => name)).toEqual(['mdmWF']);
});
