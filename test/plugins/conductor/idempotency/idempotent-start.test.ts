// Tests of IdempotentStart on one router: which request starts the execution, which requests wait, and what keeps a key
// locked.

import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { createInbound, type InboundRequest } from '#lib/envelope/inbound.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { LocalIdempotencyLocks } from '../../../../plugins/conductor/idempotency/idempotency-locks.ts';
import { createKeyMetrics, IdempotentStart } from '../../../../plugins/conductor/idempotency/idempotent-start.ts';
import { Problem } from '#lib/problem/problem.ts';

const here = new AbortController().signal;
const codec = createPayloadCodec({ 'payload.key': undefined, 'payload.decryptionKeys': [] });
const request: InboundRequest = {
  httpMethod: 'PUT',
  path: '/x',
  query: undefined,
  params: { mis: '001' },
  headers: {},
  requestId: 'r-1',
  clientId: 'demo',
  route: 'adaptor',
  body: Buffer.from('{}'),
};

/** Returns an engine that stores started executions. */
function memory(search: () => Promise<void>) {
  const started: WholeExecution[] = [];
  const executions = {
    correlated: async () => started,
    search: async () => {
      await search();
      return { executions: [], total: 0, bytes: 0 };
    },
    readWhole: async () => null,
    decide: async () => undefined,
  };
  const start = async () => {
    const execution = {
      workflowId: `e-${started.length}`,
      status: 'COMPLETED',
      input: { inbound: createInbound(request) },
    };
    started.push(execution as unknown as WholeExecution);
    return { executionId: execution.workflowId };
  };
  return { started, executions, start };
}

/** Creates an IdempotentStart. @param search returns the promise that a search of the engine waits for */
function setUp({
  ttlMs = 60_000,
  callMs = 10,
  isRefusing = false,
  search = async (): Promise<void> => undefined,
} = {}) {
  const engine = memory(search);
  const locks = new LocalIdempotencyLocks(ttlMs);
  const once = new IdempotentStart({
    locks,
    executions: engine.executions,
    urgent: engine.executions,
    isRefusing: () => isRefusing,
    codec,
    linksOf: (id) => ({ self: `/runs/${id}`, response: `/runs/${id}/response` }),
    requests: createKeyMetrics(new Registry()),
    callMs,
  });
  const keyed = { name: 'idempotency-1', workflow: 'w', request, startBefore: performance.now() + 60_000 };
  return { ...engine, locks, once, keyed };
}

describe('IdempotentStart', () => {
  it('starts one execution for concurrent requests with one key', async () => {
    const { once, keyed, start, started, locks } = setUp();
    const all = await Promise.all(Array.from({ length: 50 }, () => once.start(keyed, here, start)));
    expect(started).toHaveLength(1);
    expect(all.filter((one) => one !== null && 'started' in one)).toHaveLength(1);
    expect(locks.size).toBe(0);
  });

  it('releases the key when the start fails with 503', async () => {
    const { once, keyed, start, locks } = setUp();
    await expect(once.start(keyed, here, () => Promise.reject(new Problem('engine-unavailable')))).rejects.toThrow();
    expect(locks.size).toBe(0);
    expect(await once.start(keyed, here, start)).toEqual({ started: { executionId: 'e-0' } });
  });

  it('returns 409 until the lock expires when the outcome of the start is unknown', async () => {
    const { once, keyed, start, started } = setUp({ ttlMs: 7_000 });
    await expect(once.start(keyed, here, () => Promise.reject(new Problem('outcome-unknown')))).rejects.toThrow();
    const refusal = { code: 'idempotency-key-in-use', status: 409 };
    await expect(once.start(keyed, here, start)).rejects.toMatchObject(refusal);
    expect(started).toHaveLength(0);
    expect(await once.start(keyed, here, start)).toEqual({ started: { executionId: 'e-0' } });
  });

  it('gives the start a deadline: the end of the lock, less the time of two engine calls', async () => {
    const { once, keyed } = setUp({ ttlMs: 5_000, callMs: 60 });
    const before: number[] = [];
    const begunAt = performance.now();
    await once.start(keyed, here, (at) => (before.push(at), Promise.resolve({})));
    expect(before[0]! - begunAt).toBeGreaterThan(4_000);
    expect(before[0]! - performance.now()).toBeLessThanOrEqual(5_000 - 2 * 60);
  });

  it('returns 503 at the response deadline when the engine does not say whether the key has an execution', async () => {
    const { once, keyed, start, started, locks } = setUp({ search: () => new Promise<never>(() => undefined) });
    const late = { ...keyed, startBefore: performance.now() + 50 };
    await expect(once.start(late, here, start)).rejects.toMatchObject({ code: 'engine-unavailable', status: 503 });
    expect(started).toHaveLength(0);
    expect(locks.size).toBe(0);
  });

  it.each([
    ['between two look-ups', 20],
    ['during a look-up', 120_000],
  ])('returns 409 at the response deadline while another request holds the lock: %s', async (_when, searchMs) => {
    const { once, keyed, start, locks } = setUp({ search: () => pause(searchMs, undefined, { ref: false }) });
    const other = await locks.acquire(keyed.name);
    const deadlineAt = performance.now() + 150;
    const waiting = once.start({ ...keyed, startBefore: deadlineAt }, here, start);
    await expect(waiting).rejects.toMatchObject({ code: 'idempotency-key-in-use' });
    expect(performance.now() - deadlineAt).toBeLessThan(30_000);
    other?.release();
  });

  it('starts nothing when the client disconnects during the wait', async () => {
    const { once, keyed, start, locks } = setUp();
    const other = await locks.acquire(keyed.name);
    const gone = new AbortController();
    const waiting = once.start(keyed, gone.signal, start);
    gone.abort();
    expect(await waiting).toBeNull();
    other?.release();
    expect(locks.size).toBe(0);
  });
});

describe('IdempotentStart, for a repeated request', () => {
  it('returns the execution that the key has started, and starts no other', async () => {
    const { once, keyed, start, started } = setUp();
    await once.start(keyed, here, start);
    expect(await once.start(keyed, here, start)).toEqual({ first: started[0] });
    expect(started).toHaveLength(1);
  });

  it('reports why the response of the first request cannot be repeated', async () => {
    const { once, keyed, start, started } = setUp();
    await once.start(keyed, here, start);
    const other = { ...keyed, request: { ...request, body: Buffer.from('{"other":1}') } };
    expect(await once.start(other, here, start)).toMatchObject({ problem: { code: 'idempotency-key-reused' } });
    Object.assign(started[0]!, { status: 'RUNNING' });
    expect(await once.start(keyed, here, start)).toMatchObject({
      problem: { code: 'idempotency-key-in-use', extensions: { links: { self: '/runs/e-0' } } },
    });
  });
});

describe('IdempotentStart, while admission control rejects requests', () => {
  it('runs at most 16 look-ups at a time, and rejects requests beyond that', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const { once, keyed, start, locks } = setUp({
      isRefusing: true,
      search: async () => {
        asked += 1;
        await answered;
      },
    });
    const run = (index: number) => once.start({ ...keyed, name: `idempotency-${index}` }, here, start);
    const all = Array.from({ length: 16 }, (_, index) => run(index));
    await vi.waitFor(() => expect(asked).toBe(16), { timeout: 120_000 });
    await expect(run(16)).rejects.toMatchObject({ code: 'overloaded', headers: { 'retry-after': '1' } });
    answer();
    await Promise.all(all);
    expect(asked).toBe(16);
    expect(locks.size).toBe(0);
  });

  it('rejects with `engine-unavailable` when the engine does not respond', async () => {
    const away = () => Promise.reject(new EngineError('unreachable', 'away'));
    const { once, keyed, start, locks } = setUp({ isRefusing: true, search: away });
    await expect(once.start(keyed, here, start)).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(locks.size).toBe(0);
  });
});
