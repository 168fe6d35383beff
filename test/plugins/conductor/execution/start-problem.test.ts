// Tests of failed starts: the status is 503 only when repeating the request is safe, however the engine failed.

import { expect, it, onTestFinished, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { EngineIndex } from '#lib/conductor/executions/engine-index.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { EngineRequest } from '#lib/conductor/send-call.ts';
import type { Problem } from '#lib/problem/problem.ts';
import { startProblem } from '../../../../plugins/conductor/execution/start-problem.ts';

const request = { name: 'college-adaptorWF', version: 2, correlationId: 'request-1', input: {} };
const refused = (status: number) => new EngineError('refused', 'x', { status });
const found = { correlated: async () => [{} as WholeExecution] };
const absent = { correlated: async () => [] };
const silent = { correlated: async () => Promise.reject(new Error('no response')) };

const write = () => ({
  ...{ request, readOnly: false },
  ...{ startedAt: Date.now(), deadlineAt: performance.now() + 10_000 },
});

it.each([
  ['a broken connection', new EngineError('interrupted', 'x'), absent, 504, 'outcome-unknown'],
  ['an unexpected error', new Error('x'), absent, 504, 'outcome-unknown'],
  ['no connection', new EngineError('unreachable', 'x'), silent, 503, 'engine-unavailable'],
  ['an unknown definition', refused(404), silent, 503, 'definition-missing'],
  ['a refusal', refused(409), silent, 503, 'engine-unavailable'],
  ['500 from an engine that has the execution', refused(500), found, 504, 'outcome-unknown'],
  ['500 from an engine that does not have the execution', refused(500), absent, 503, 'engine-unavailable'],
  ['500 from an engine that cannot be searched', refused(500), silent, 504, 'outcome-unknown'],
  ['502 from a proxy', refused(502), absent, 504, 'outcome-unknown'],
] as const)('a write, $0: $3 $4', async (_title, error, engine, status, code) => {
  expect(await startProblem(error, write(), engine)).toMatchObject({ status, code });
});

it.each([500, 502, 503])('a read, %i: 503, because repeating it is safe', async (status) => {
  expect(await startProblem(refused(status), { ...write(), readOnly: true }, found)).toMatchObject({ status: 503 });
});

it.each([true, false])(
  'a broken connection: a write may still complete, a read changes nothing (readOnly: %s)',
  async (readOnly) => {
    const problem = await startProblem(new EngineError('interrupted', 'x'), { ...write(), readOnly }, absent);
    expect(problem.extensions).toEqual({ mayStillComplete: !readOnly });
  },
);

it('a write, 500 from an engine whose search never ends: 504, one second after the deadline', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const never = { correlated: () => new Promise<never>(() => undefined) };
  const onProblem = vi.fn<(problem: Problem) => void>();
  const failed = { ...write(), deadlineAt: performance.now() + 100 };
  void startProblem(refused(500), failed, never).then(onProblem);
  await vi.advanceTimersByTimeAsync(1_099);
  expect(onProblem).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onProblem).toHaveBeenCalledWith(expect.objectContaining({ code: 'outcome-unknown' }));
});

it.each([
  ['an hour before the request', 3_600_000, 503, 'engine-unavailable'],
  ['ten minutes before the request, according to a slow clock', 600_000, 504, 'outcome-unknown'],
])('a write with the X-Request-Id of an execution that started $0: $2 $3', async (_title, ageMs, status, code) => {
  const calls: EngineRequest[] = [];
  const index = new EngineIndex(async (call) => {
    calls.push(call);
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify([{ startTime: Date.now() - ageMs }])) };
  });
  expect(await startProblem(refused(500), write(), index)).toMatchObject({ status, code });
  expect(calls).toMatchObject([{ longestString: expect.any(Number), timeoutMs: expect.any(Number) }]);
});
