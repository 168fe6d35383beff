// Tests of the whole stack of the workflow policy: its layers start at most one execution for a request.

import { describe, expect, it } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { noRecorder } from '#lib/records/recorder.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import { createStack, type StackDependencies } from '../../../../plugins/conductor/workflow/create-stack.ts';
import type { ExecutionRequest, ServeResult } from '../../../../plugins/conductor/workflow/execution-request.ts';

type Start = () => Promise<string>;

/**
 * Returns dependencies whose engine starts executions that end with the status `ended`, and the number of starts that
 * the engine has received.
 */
function dependenciesWith(start: Start, ended: Omit<ExecutionStatus, 'workflowId'>) {
  const sent = { starts: 0 };
  const nothing = () => undefined;
  const rejected = () => Promise.reject(new Error('not known here'));
  const dependencies = {
    engine: { startWorkflow: () => (sent.starts++, start()), getExecution: rejected },
    waiters: {
      whileStarting: (begin: () => Promise<unknown>) => begin(),
      waitFor: async () => ({ workflowId: 'e-1', ...ended }),
    },
    metadata: { metadataOf: rejected },
    wakeUps: { tasksAppeared: nothing },
    completions: new TransientMap(),
    awaited: new Set(),
    executions: { correlated: async () => [] },
    recorder: noRecorder,
    log: createLog('test', 'silent'),
    draining: new AbortController().signal,
    responseOptions: {
      codec: { packInbound: nothing, unpackOutbound: () => ({ status: 200, headers: {}, body: Buffer.alloc(0) }) },
      allows: () => true,
      linksOf: () => ({ self: '', response: '' }),
    },
    admission: { admit: async () => ({ started: nothing, end: nothing }) },
    backEnds: new BackEnds(() => ({}) as never, nothing),
    idempotentStart: {
      start: async (_keyed: unknown, _gone: unknown, next: (until: number) => Promise<ServeResult>) => ({
        started: await next(Infinity),
      }),
    },
    telemetry: { started: nothing, forget: nothing },
  } as unknown as StackDependencies;
  return { dependencies, sent };
}

function createRequest(given: { method: string; isKeyed?: boolean; hasLeft?: boolean }): ExecutionRequest {
  const nothing = () => undefined;
  return {
    received: { httpMethod: given.method, route: 'adaptor', params: {} },
    version: { version: 1, ended: nothing },
    correlationId: 'r-1',
    isKeyed: given.isKeyed ?? false,
    client: 'client demo',
    clientGone: new AbortController().signal,
    hasLeft: async () => given.hasLeft ?? false,
    waitPolicy: { waitMs: 5_000, respondsAsync: false, applied: '' },
    responseDeadlineMs: 5_000,
    ...{ receivedAt: performance.now(), arrivedAt: performance.now(), startBefore: performance.now() + 5_000 },
    telemetry: Object.fromEntries(
      ['queued', 'admitted', 'starting', 'ended', 'failed', 'close', 'responds'].map((name) => [name, nothing]),
    ),
  } as unknown as ExecutionRequest;
}

const starts: Start = async () => 'e-1';
const fails = (kind: 'unreachable' | 'interrupted' | 'refused', status?: number): Start => {
  return () => Promise.reject(new EngineError(kind, 'no', status === undefined ? {} : { status }));
};

describe('the stack of the workflow policy', () => {
  it.each<[string, Start, Omit<ExecutionStatus, 'workflowId'>]>([
    ['completes', starts, { status: 'COMPLETED', output: {} }],
    ['fails', starts, { status: 'FAILED', reasonForIncompletion: 'no' }],
    ['times out', starts, { status: 'TIMED_OUT', reasonForIncompletion: 'no' }],
    ['is not started because the engine is unavailable', fails('unreachable'), { status: 'RUNNING' }],
    ['may have been started before the connection broke', fails('interrupted'), { status: 'RUNNING' }],
    ['is not started because the engine has failed', fails('refused', 500), { status: 'RUNNING' }],
    ['is not started because the engine lacks the version', fails('refused', 404), { status: 'RUNNING' }],
  ])('sends the engine one start for an execution that %s', async (_case, start, ended) => {
    for (const given of [{ method: 'GET' }, { method: 'PATCH' }, { method: 'PATCH', isKeyed: true }]) {
      const { dependencies, sent } = dependenciesWith(start, ended);
      const options = { workflow: 'w', backEndOf: undefined, domainOf: undefined, compress: { overBytes: 1 } };
      const result = await createStack(options, dependencies)(createRequest(given)).catch(() => undefined);
      expect((await result?.outcome)?.kind).toBe(
        start !== starts ? undefined : ended.status === 'COMPLETED' ? 'response' : 'problem',
      );
      expect(sent.starts).toBe(1);
    }
  });

  it('sends the engine no start for a write whose client has disconnected', async () => {
    const { dependencies, sent } = dependenciesWith(starts, { status: 'COMPLETED' });
    const options = { workflow: 'w', backEndOf: undefined, domainOf: undefined, compress: undefined };
    const result = await createStack(options, dependencies)(createRequest({ method: 'PATCH', hasLeft: true }));
    expect(await result.outcome).toEqual({ kind: 'client-gone' });
    expect(sent.starts).toBe(0);
  });
});
