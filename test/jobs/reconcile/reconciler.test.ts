// Tests of the reconcile loop of a router that does not always hold the leader lock.

import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { createOutbound } from '#lib/envelope/outbound.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { MdmDefinitions } from '../../../jobs/reconcile/mdm-definitions.ts';
import { ReconcileRounds } from '../../../jobs/reconcile/reconcile-rounds.ts';
import { type Reconciler, startReconciler } from '../../../jobs/reconcile/reconciler.ts';
import { definitionsFor } from '../../lib/conductor/definitions/copy-of-product.ts';
import { createEngineIndex, type EngineIndex } from './engine-index.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const mdmDefinitions = new MdmDefinitions(definitionsFor());
const codec = createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] });

let engine: EngineIndex;
let isLeader: boolean;
let isReleased: boolean;
let reconciler: Reconciler;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_795_275_400_000 });
  engine = createEngineIndex();
  isReleased = false;
});
afterEach(async () => {
  await reconciler.stop();
  vi.useRealTimers();
});

/** Starts the loop of a router. */
function start(metrics = new Registry()): void {
  const options = { api: engine.api, mdmDefinitions, codec, readQueueSizes: async () => ({}) };
  const [afterMs, lookBackMs] = [minute, day];
  reconciler = startReconciler({
    createRounds: () => new ReconcileRounds({ ...options, afterMs, lookBackMs }),
    lookBackMs,
    lock: {
      hold: async () => {
        isReleased = false;
        return isLeader;
      },
      release: async () => void (isReleased = true),
    },
    intervalMs: 10 * minute,
    metrics,
    log: createLog('test', 'silent'),
  });
}

/** Adds a PATCH that ends now and whose notification was lost or has been pruned. */
function putPatch(fields: Partial<WholeExecution> = {}): void {
  const now = Date.now();
  const outbound = createOutbound({ status: 200, headers: {}, body: Buffer.from('{"sisPersonId":"p1","cccid":"C1"}') });
  const [taskType, status] = ['college-adaptor_intake', 'COMPLETED'] as const;
  const task = { taskId: 't', taskType, referenceTaskName: taskType, status, pollCount: 1, outputData: { outbound } };
  engine.put({
    ...{ workflowId: 'patch-1', workflowName: 'college-adaptorWF', workflowVersion: 2, status },
    ...{ startTime: now - 2_000, endTime: now, output: { outbound } },
    input: { inbound: { httpMethod: 'PATCH', path: '/persons/p1', params: { mis: '001' }, requestId: 'r-1' } },
    tasks: [{ ...task, startTime: now - 1_000, endTime: now }],
    ...fields,
  });
}

const started = () => engine.started.map(({ name }) => name);

it('looks back from the time when it becomes leader, not from its start', async () => {
  isLeader = false;
  start();
  putPatch();
  await vi.advanceTimersByTimeAsync(20 * day);
  isLeader = true;
  await vi.advanceTimersByTimeAsync(hour);
  expect(started()).toEqual([]);
  putPatch({ workflowId: 'patch-2' });
  await vi.advanceTimersByTimeAsync(hour);
  expect(started()).toEqual(['mdmWF']);
});

it('finds executions that ended within the look-back when it becomes leader', async () => {
  isLeader = false;
  start();
  await vi.advanceTimersByTimeAsync(20 * day);
  putPatch();
  await vi.advanceTimersByTimeAsync(23 * hour);
  isLeader = true;
  await vi.advanceTimersByTimeAsync(hour);
  expect(started()).toEqual(['mdmWF']);
});

it('forgets the executions that it has not repaired when another router leads for longer than the look-back', async () => {
  isLeader = true;
  start();
  putPatch();
  const { outcomeOf } = engine;
  engine.outcomeOf = () => {
    throw new Error('the engine refuses the start');
  };
  await vi.advanceTimersByTimeAsync(hour);
  expect(started().length).toBeGreaterThan(0);
  isLeader = false;
  await vi.advanceTimersByTimeAsync(20 * day);
  engine.outcomeOf = outcomeOf;
  engine.started.length = 0;
  isLeader = true;
  await vi.advanceTimersByTimeAsync(hour);
  expect(started()).toEqual([]);
});

it('after a short time as standby, or a long engine outage as leader, resumes where it stopped', async () => {
  isLeader = true;
  start();
  await vi.advanceTimersByTimeAsync(hour);
  engine.beforeCall = () => Promise.reject(new Error('away'));
  putPatch();
  await vi.advanceTimersByTimeAsync(3 * day);
  isLeader = false;
  await vi.advanceTimersByTimeAsync(hour);
  isLeader = true;
  engine.beforeCall = () => undefined;
  await vi.advanceTimersByTimeAsync(hour);
  expect(started()).toEqual(['mdmWF']);
});

it.each([
  ['fails', new EngineError('unreachable', 'away')],
  ['finds an engine that is starting', new EngineError('unreachable', 'away', { isStarting: true })],
])(
  'keeps the lock between rounds, even after a failed round, and releases it when every round %s',
  async (_when, error) => {
    isLeader = true;
    start();
    await vi.advanceTimersByTimeAsync(hour);
    engine.beforeCall = async () => {
      engine.beforeCall = async () => undefined;
      throw error;
    };
    await vi.advanceTimersByTimeAsync(hour);
    expect(isReleased).toBe(false);
    engine.beforeCall = () => Promise.reject(error);
    await vi.advanceTimersByTimeAsync(10 * hour);
    expect(isReleased).toBe(true);
  },
);

it('counts rounds of every outcome from 0, because the alert about missing rounds needs each series', async () => {
  isLeader = true;
  engine.beforeCall = () => Promise.reject(new EngineError('unreachable', 'away'));
  const metrics = new Registry();
  start(metrics);
  await vi.advanceTimersByTimeAsync(minute);
  const rounds = await metrics.getSingleMetric('router_reconciler_rounds_total')?.get();
  expect(rounds?.values.map(({ labels, value }) => [labels['outcome'], value])).toEqual([
    ['done', 0],
    ['failed', 1],
    ['not_leader', 0],
  ]);
});
