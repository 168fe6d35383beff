// Tests of the layers of the workflow policy. Each layer wraps a function that stands for the layers below it.

import { describe, expect, it } from 'vitest';
import type { Admission, AdmissionRequest } from '../../../../plugins/conductor/admission/admission.ts';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import type { ExecutionEnding, Outcome } from '../../../../plugins/conductor/execution/outcome.ts';
import type {
  ExecutionRequest,
  Layer,
  ServeResult,
  Serve,
} from '../../../../plugins/conductor/workflow/execution-request.ts';
import { admit } from '../../../../plugins/conductor/workflow/layers/admit.ts';
import { compress } from '../../../../plugins/conductor/workflow/layers/compress.ts';
import { countOutcomes } from '../../../../plugins/conductor/workflow/layers/count-outcomes.ts';
import { judgeVersions } from '../../../../plugins/conductor/workflow/layers/judge-versions.ts';
import { startOnce } from '../../../../plugins/conductor/workflow/layers/start-once.ts';
import { startInTime } from '../../../../plugins/conductor/workflow/layers/start-in-time.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { Problem } from '#lib/problem/problem.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import type { ResponseOptions } from '../../../../plugins/conductor/execution/response.ts';
import type { IdempotentStart } from '../../../../plugins/conductor/idempotency/idempotent-start.ts';

const response = { status: 201, headers: {}, body: Buffer.from('{}') };
const completed: Outcome = { kind: 'response', response };

interface Given {
  readonly method?: string;
  readonly hasLeft?: boolean;
  readonly startBefore?: number;
}

/** Returns a request, and the recorded calls to its telemetry and version. */
function createRequest({ method = 'PATCH', hasLeft = false, startBefore = Infinity }: Given = {}) {
  const told: unknown[] = [];
  const tell = (event: string) => (...given: unknown[]) => void told.push([event, ...given]); // prettier-ignore
  const request = {
    received: { httpMethod: method, route: 'adaptor', params: { mis: '002' } },
    client: 'client demo',
    clientGone: new AbortController().signal,
    hasLeft: async () => hasLeft,
    receivedAt: performance.now(),
    startBefore,
    version: { version: 2, ended: (ending: ExecutionEnding) => void told.push(['version', ending]) },
    telemetry: {
      queued: tell('queued'),
      admitted: tell('admitted'),
      failed: tell('failed'),
      close: tell('close'),
      responds: (...given: unknown[]) => (told.push(['responds', ...given]), 'total;dur=1.0'),
    },
  } as unknown as ExecutionRequest;
  return { request, told };
}

const started = (outcome: Promise<Outcome> = Promise.resolve(completed)): ServeResult => ({
  executionId: 'e-1',
  outcome,
});
const run = (layer: Layer, request: ExecutionRequest, next: () => Promise<ServeResult>) => layer(next)(request);
const refused = () => Promise.reject(new Problem('engine-unavailable'));
const log = createLog('test', 'silent');
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('startInTime', () => {
  const none = new AbortController().signal;

  it('starts nothing while the router drains', async () => {
    const next = startInTime({ draining: AbortSignal.abort() })(async () => started());
    await expect(next(createRequest().request)).rejects.toMatchObject({
      code: 'shutting-down',
      headers: { connection: 'close', 'retry-after': '1' },
    });
  });

  it('starts reads, but no writes, for a client that has disconnected', async () => {
    const next = startInTime({ draining: none })(async () => started());
    expect(await (await next(createRequest({ hasLeft: true }).request)).outcome).toEqual({ kind: 'client-gone' });
    expect(await next(createRequest({ hasLeft: true, method: 'GET' }).request)).toHaveProperty('executionId', 'e-1');
  });

  it('starts nothing at or after `startBefore`', async () => {
    const next = startInTime({ draining: none })(async () => started());
    const late = createRequest({ startBefore: performance.now() }).request;
    await expect(next(late)).rejects.toMatchObject({ code: 'overloaded', headers: { 'retry-after': '1' } });
  });
});

describe('admit', () => {
  /** Returns the layer with admission control that admits everything, and the recorded calls to it. */
  function openAdmission() {
    const told: unknown[] = [];
    const admission = {
      admit: async ({ backEnd, requestClass }: AdmissionRequest) => {
        told.push([backEnd.name, requestClass]);
        return {
          started: (id: string) => void told.push(['started', id]),
          end: (ending: ExecutionEnding) => void told.push(['end', ending]),
        };
      },
    } as unknown as Admission;
    const backEnds = new BackEnds(() => ({}) as never, () => undefined); // prettier-ignore
    return { layer: admit({ backEndOf: 'mis' }, { admission, backEnds, log }), told };
  }

  it('links the permit to the execution, and releases it with the outcome', async () => {
    const { layer, told } = openAdmission();
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    await run(layer, createRequest().request, async () => started(promise));
    await turn();
    expect(told).toEqual([['adaptor 002', 'write'], ['started', 'e-1']]); // prettier-ignore
    resolve(completed);
    await turn();
    expect(told.at(-1)).toEqual(['end', { problem: undefined, status: 201, clientGone: false }]);
  });

  it('keeps the permit after a 202 response until the execution has ended', async () => {
    const { layer, told } = openAdmission();
    const { promise: settled, resolve } = Promise.withResolvers<ExecutionEnding>();
    await run(layer, createRequest().request, async () =>
      started(Promise.resolve({ kind: 'accepted', document: {}, settled })),
    );
    await turn();
    expect(told.at(-1)).toEqual(['started', 'e-1']);
    resolve({ problem: 'back-end-timeout', clientGone: false });
    await turn();
    expect(told.at(-1)).toEqual(['end', { problem: 'back-end-timeout', clientGone: false }]);
  });

  it('releases the permit of a start that fails', async () => {
    const { layer, told } = openAdmission();
    await expect(run(layer, createRequest().request, refused)).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(told.at(-1)).toEqual(['end', { problem: 'engine-unavailable', clientGone: false }]);
  });
});

describe('judgeVersions', () => {
  it('reports an outcome and a failed start to the version', async () => {
    const { request, told } = createRequest();
    await run(judgeVersions({ log }), request, async () => started());
    await turn();
    await expect(run(judgeVersions({ log }), request, refused)).rejects.toThrow();
    expect(told).toEqual([
      ['version', { problem: undefined, status: 201, clientGone: false }],
      ['version', { problem: 'engine-unavailable', clientGone: false }],
    ]);
  });
});

describe('countOutcomes', () => {
  it('counts the outcome and adds the times of the stages to the response', async () => {
    const { request, told } = createRequest();
    const { outcome } = await run(countOutcomes(), request, async () => started());
    expect(await outcome).toEqual({ ...completed, headers: { 'server-timing': 'total;dur=1.0' } });
    expect(told).toEqual([['responds', 'answered', 'e-1']]);
  });

  it.each<[string, Outcome]>([
    [
      'deferred',
      { kind: 'accepted', document: {}, settled: Promise.resolve({ problem: undefined, clientGone: true }) },
    ],
    ['client-gone', { kind: 'client-gone' }],
    ['wait-budget-spent', { kind: 'problem', problem: new Problem('wait-budget-spent') }],
  ])('counts the outcome %s', async (label, outcome) => {
    const { request, told } = createRequest();
    await (
      await run(countOutcomes(), request, async () => started(Promise.resolve(outcome)))
    ).outcome;
    expect(told).toEqual([['responds', label, 'e-1']]);
  });

  it('counts a start that failed, but not a replay', async () => {
    const { request, told } = createRequest();
    await expect(run(countOutcomes(), request, refused)).rejects.toThrow();
    const replay = await run(countOutcomes(), request, async () => ({ ...started(), earlier: 'replayed' as const }));
    expect(await replay.outcome).toBe(completed);
    expect(told).toEqual([['failed', 'engine-unavailable'], ['close']]); // prettier-ignore
  });

  it('counts a rejected repeated request without the times of the first execution', async () => {
    const { request, told } = createRequest();
    const problem = new Problem('idempotency-key-in-use');
    const outcome = Promise.resolve<Outcome>({ kind: 'problem', problem });
    const rejected = async () => ({ ...started(outcome), earlier: 'rejected' as const });
    await (
      await run(countOutcomes(), request, rejected)
    ).outcome;
    expect(told).toEqual([['responds', 'idempotency-key-in-use', undefined]]);
  });
});

describe('compress', () => {
  it('compresses the response from the back end, and turns a failed compression into a problem', async () => {
    const { request } = createRequest();
    const text = { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.from('a film. '.repeat(500)) };
    const layer = compress({ overBytes: 100 });
    const serve = (outcome: Outcome) =>
      run(layer, { ...request, coding: 'gzip' }, async () => started(Promise.resolve(outcome)));
    const compressed = await (await serve({ kind: 'response', response: text })).outcome;
    expect(compressed).toMatchObject({
      response: { headers: { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } },
    });
    const broken = { kind: 'response', response: { ...text, body: undefined } } as unknown as Outcome;
    expect(await (await serve(broken)).outcome).toMatchObject({ kind: 'problem', problem: { code: 'internal-error' } });
  });
});

describe('startOnce', () => {
  const first = {
    workflowId: 'e-0',
    workflowVersion: 3,
    status: 'FAILED',
    input: { inbound: { httpMethod: 'PATCH', requestId: 'r-0', clientId: 'demo', route: 'adaptor' } },
  } as unknown as WholeExecution;
  const layerOf = (start: IdempotentStart['start']) =>
    startOnce(
      { workflow: 'w' },
      {
        idempotentStart: { start } as IdempotentStart,
        responseOptions: { linksOf: () => ({ self: '', response: '' }) } as unknown as ResponseOptions,
      },
    );
  const keyed = () => ({ ...createRequest({ startBefore: 500 }).request, isKeyed: true, correlationId: 'key' });

  it('passes on a request without a key', async () => {
    const layer = layerOf(() => Promise.reject(new Error('not asked')));
    expect(await run(layer, createRequest().request, async () => started())).toHaveProperty('executionId', 'e-1');
  });

  it('starts nothing after the time until which the lock is certainly held', async () => {
    const layer = layerOf(async (_keyed, _gone, start) => ({ started: await start(400) }));
    let before: number | undefined;
    const next: Serve = async ({ startBefore }) => {
      before = startBefore;
      return started();
    };
    await layer(next)(keyed());
    expect(before).toBe(400);
  });

  it('replays the outcome of the first request, with its request id', async () => {
    const layer = layerOf(async () => ({ first }));
    const { outcome, ...execution } = await run(layer, keyed(), async () => started());
    expect(execution).toEqual({ executionId: 'e-0', version: 3, earlier: 'replayed' });
    expect(await outcome).toMatchObject({
      problem: { code: 'execution-failed', requestId: 'r-0' },
      headers: { 'idempotency-replayed': 'true' },
    });
  });

  it('names the first execution when its response cannot be repeated', async () => {
    const layer = layerOf(async () => ({ first, problem: new Problem('idempotency-key-reused') }));
    const { outcome, ...execution } = await run(layer, keyed(), async () => started());
    expect(execution).toEqual({ executionId: 'e-0', version: 3, earlier: 'rejected' });
    expect(await outcome).toMatchObject({ kind: 'problem', problem: { code: 'idempotency-key-reused' } });
  });
});
