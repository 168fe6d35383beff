// One start a key, as seen from one router: who starts, who waits, and what keeps a key claimed.

import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
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

/** An engine that remembers what was started. */
function memory(search: () => Promise<void>) {
  const started: WholeExecution[] = [];
  const executions = {
    correlated: async () => started,
    search: async () => {
      await search();
      return { executions: [], total: 0, bytes: 0 };
    },
    readWhole: async () => null,
  };
  const start = async () => {
    const execution = {
      workflowId: `e-${started.length}`,
      status: 'COMPLETED',
      input: { inbound: createInbound(request) },
    };
    started.push(execution as unknown as WholeExecution);
    return execution.workflowId;
  };
  return { started, executions, start };
}

/** @param search what a search of the engine waits for */
function setUp({ ttlMs = 60_000, callMs = 10, search = async (): Promise<void> => undefined } = {}) {
  const engine = memory(search);
  const claims = new LocalIdempotencyLocks(ttlMs);
  const once = new IdempotentStart({
    claims,
    executions: engine.executions,
    recorded: engine.executions,
    codec,
    linksOf: (id) => ({ self: `/runs/${id}`, response: `/runs/${id}/response` }),
    requests: createKeyMetrics(new Registry()),
    callMs,
  });
  const keyed = { name: 'idempotency-1', workflow: 'w', request, noteFirst: () => undefined };
  return { ...engine, claims, once, keyed };
}

describe('IdempotentStart', () => {
  it('starts one execution for concurrent requests with one key', async () => {
    const { once, keyed, start, started, claims } = setUp();
    const all = await Promise.all(Array.from({ length: 50 }, () => once.start(keyed, here, start)));
    expect(started).toHaveLength(1);
    expect(all.filter((one) => one !== null && 'started' in one)).toHaveLength(1);
    expect(claims.size).toBe(0);
  });

  it('releases the key when the start fails with 503', async () => {
    const { once, keyed, start, claims } = setUp();
    await expect(once.start(keyed, here, () => Promise.reject(new Problem('engine-unavailable')))).rejects.toThrow();
    expect(claims.size).toBe(0);
    expect(await once.start(keyed, here, start)).toEqual({ started: 'e-0' });
  });

  it('returns 409 until the lock expires when the outcome of the start is unknown', async () => {
    const { once, keyed, start, started } = setUp({ ttlMs: 7_000 });
    await expect(once.start(keyed, here, () => Promise.reject(new Problem('outcome-unknown')))).rejects.toThrow();
    const refusal = { code: 'idempotency-key-in-use', status: 409 };
    await expect(once.start(keyed, here, start)).rejects.toMatchObject(refusal);
    expect(started).toHaveLength(0);
    expect(await once.start(keyed, here, start)).toEqual({ started: 'e-0' });
  });

  it('starts nothing when the lock is about to expire', async () => {
    const { once, keyed, start, started } = setUp({ ttlMs: 100, callMs: 60 });
    await expect(once.start(keyed, here, start)).rejects.toMatchObject({
      code: 'idempotency-unavailable',
      status: 503,
    });
    expect(started).toHaveLength(0);
  });

  it('starts nothing when the client has disconnected during the wait', async () => {
    const { once, keyed, start, claims } = setUp();
    const other = await claims.acquire(keyed.name);
    const gone = new AbortController();
    const waiting = once.start(keyed, gone.signal, start);
    gone.abort();
    expect(await waiting).toBeNull();
    other?.release();
    expect(claims.size).toBe(0);
  });
});

describe('IdempotentStart.findRecorded, for a rejected request', () => {
  it('returns the execution that the key has started and starts none', async () => {
    const { once, keyed, start, started } = setUp();
    expect(await once.findRecorded(keyed)).toBeUndefined();
    expect(started).toHaveLength(0);
    await once.start(keyed, here, start);
    expect(await once.findRecorded(keyed)).toBe(started[0]);
  });

  it('runs at most 16 look-ups at a time', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    const { once, keyed } = setUp({
      search: async () => {
        asked += 1;
        await answered;
      },
    });
    const all = Array.from({ length: 20 }, () => once.findRecorded(keyed));
    expect(await Promise.all(all.slice(16))).toEqual([undefined, undefined, undefined, undefined]);
    answer();
    await Promise.all(all);
    expect(asked).toBe(16);
  });

  it('keeps the rejection when the engine does not answer', async () => {
    const { once, keyed } = setUp({ search: () => Promise.reject(new EngineError('unreachable', 'away')) });
    expect(await once.findRecorded(keyed)).toBeUndefined();
  });
});
