// The layers of the workflow policy, each around a function that stands for the layers below it.

import { describe, expect, it } from 'vitest';
import type { Admission, AdmissionRequest } from '../../../../plugins/conductor/admission/admission.ts';
import { BackEnds } from '../../../../plugins/conductor/admission/back-ends.ts';
import type { ExecutionEnding, Outcome } from '../../../../plugins/conductor/execution/outcome.ts';
import type { Execution, ExecutionRequest, Layer } from '../../../../plugins/conductor/workflow/execution-request.ts';
import { admit } from '../../../../plugins/conductor/workflow/layers/admit.ts';
import { countOutcomes } from '../../../../plugins/conductor/workflow/layers/count-outcomes.ts';
import { judgeVersions } from '../../../../plugins/conductor/workflow/layers/judge-versions.ts';
import { startInTime } from '../../../../plugins/conductor/workflow/layers/start-in-time.ts';
import { Problem } from '#lib/problem/problem.ts';

const response = { status: 201, headers: {}, body: Buffer.from('{}') };
const completed: Outcome = { kind: 'response', response };

interface Given {
  readonly method?: string;
  readonly hasLeft?: boolean;
  readonly startBefore?: number;
}

/** A request, and what its telemetry and its version were told. */
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
      responds: (...given: unknown[]) => (told.push(['responds', ...given]), 'total;dur=1.0'),
    },
  } as unknown as ExecutionRequest;
  return { request, told };
}

const started = (outcome: Promise<Outcome> = Promise.resolve(completed)): Execution => ({
  executionId: 'e-1',
  outcome,
});
const run = (layer: Layer, request: ExecutionRequest, next: () => Promise<Execution>) => layer(next)(request);
const refused = () => Promise.reject(new Problem('engine-unavailable'));
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

  it('starts no write for a client that has left, and every read', async () => {
    const next = startInTime({ draining: none })(async () => started());
    expect(await (await next(createRequest({ hasLeft: true }).request)).outcome).toEqual({ kind: 'client-gone' });
    expect(await next(createRequest({ hasLeft: true, method: 'GET' }).request)).toHaveProperty('executionId', 'e-1');
  });

  it('starts nothing from the time on that a request must be started before', async () => {
    const next = startInTime({ draining: none })(async () => started());
    const late = createRequest({ startBefore: performance.now() }).request;
    await expect(next(late)).rejects.toMatchObject({ code: 'overloaded', headers: { 'retry-after': '1' } });
  });
});

describe('admit', () => {
  /** Admission control that admits everything and remembers what it was told. */
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
    return { layer: admit({ backEndOf: 'mis' }, { admission, backEnds }), told };
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

  it('keeps the permit behind a 202 until the execution has ended', async () => {
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
    await run(judgeVersions(), request, async () => started());
    await turn();
    await expect(run(judgeVersions(), request, refused)).rejects.toThrow();
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
  ])('counts %s', async (label, outcome) => {
    const { request, told } = createRequest();
    await (
      await run(countOutcomes(), request, async () => started(Promise.resolve(outcome)))
    ).outcome;
    expect(told).toEqual([['responds', label, 'e-1']]);
  });

  it('counts what was not started, and no replay', async () => {
    const { request, told } = createRequest();
    await expect(run(countOutcomes(), request, refused)).rejects.toThrow();
    const replay = await run(countOutcomes(), request, async () => ({ ...started(), isReplay: true }));
    expect(await replay.outcome).toBe(completed);
    expect(told).toEqual([['failed', 'engine-unavailable']]);
  });
});
