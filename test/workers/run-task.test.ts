// Tests of running tasks: outcomes, log lines and reports of unexpected errors.

import { describe, expect, test } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { BackEndFailure } from '../../workers/back-end/back-end-failure.ts';
import { supervise } from '../../workers/run-task.ts';
import { TaskFailure } from '../../workers/task-failure.ts';
import type { TaskOutcome } from '../../workers/worker.ts';
import { inboundOf, receivedOutcome, recordingLog } from './started-workers.ts';

const task: Task = {
  taskId: 'task-1',
  taskType: 'SIMPLE',
  taskDefName: 'movies_intake',
  referenceTaskName: 'x',
  workflowInstanceId: 'execution-1',
  inputData: inboundOf({ requestId: 'r-1', body: Buffer.from('personal value') }),
};

async function run(execute: () => Promise<TaskOutcome>, given = task) {
  const { log, lines } = recordingLog();
  const reported: { error: unknown; fields: Record<string, string> }[] = [];
  const reportError = (error: unknown, fields: Record<string, string>) => void reported.push({ error, fields });
  const worker = supervise({ taskDefName: 'movies_intake', execute }, { log, reportError });
  return { outcome: receivedOutcome(await worker.execute(given)), lines, reported };
}

const ids = { taskType: 'movies_intake', executionId: 'execution-1', requestId: 'r-1' };

describe('supervise', () => {
  test('logs an empty request id when the request id in the input is not a string', async () => {
    const completed: TaskOutcome = { status: 'COMPLETED', outputData: {} };
    const given = { ...task, inputData: { requestId: { toString: 'no function' } } };
    const { outcome, lines } = await run(async () => completed, given);
    expect(outcome).toEqual(completed);
    expect(lines).toMatchObject([{ requestId: '' }]);
  });

  test('returns a completed outcome and logs ids, status, milliseconds and outcome, but no body', async () => {
    const completed: TaskOutcome = {
      status: 'COMPLETED',
      outputData: { outbound: { statusCodeValue: 404, headers: {}, body: 'personal value' } },
    };
    const { outcome, lines, reported } = await run(async () => completed);
    expect(outcome).toEqual(completed);
    expect(lines).toMatchObject([{ ...ids, status: 404, outcome: 'COMPLETED', ms: expect.any(Number) as number }]);
    expect(JSON.stringify(lines)).not.toMatch(/personal value/);
    expect(reported).toHaveLength(0);
  });

  test('fails terminally with a code when there is no response; only the log contains the cause', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:80'), { code: 'ECONNREFUSED' });
    const { outcome, lines, reported } = await run(() =>
      Promise.reject(new BackEndFailure('back-end-unreachable', 'no connection', { cause })),
    );
    const reason = 'back-end-unreachable: no connection';
    expect(outcome).toEqual({ status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: reason });
    expect(lines).toMatchObject([{ ...ids, outcome: 'FAILED_WITH_TERMINAL_ERROR', reason, cause: 'ECONNREFUSED' }]);
    expect(reported).toHaveLength(0);
  });

  test('keeps a reason without a code', async () => {
    const { outcome } = await run(() => Promise.reject(new TaskFailure('no such thing')));
    expect(outcome).toMatchObject({ reasonForIncompletion: 'no such thing' });
  });

  test('returns a task in progress and logs what it waits for', async () => {
    const later: TaskOutcome = {
      status: 'IN_PROGRESS',
      callbackAfterSeconds: 2,
      outputData: { waitingFor: 'MDM responded with status 503' },
    };
    const { outcome, lines } = await run(async () => later);
    expect(outcome).toEqual(later);
    expect(lines).toMatchObject([{ ...ids, outcome: 'IN_PROGRESS', reason: 'MDM responded with status 503' }]);
  });

  test.each([
    ['error', new RangeError('Invalid array length')],
    ['value that is not an error', 'text'],
  ])('an unexpected %s → failed without its text or stack, logged and reported', async (_label, thrown) => {
    const { outcome, lines, reported } = await run(() => Promise.reject(thrown as Error));
    expect(outcome).toEqual({ status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: 'the worker failed' });
    expect(reported).toEqual([{ error: thrown, fields: ids }]);
    expect(lines).toHaveLength(1);
  });

  test.each<[string, TaskOutcome]>([
    ['COMPLETED', { status: 'COMPLETED', outputData: { count: 3n } }],
    ['IN_PROGRESS', { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { count: 3n } }],
  ])('%s with an output that JSON cannot express → failed, logged with a stack and reported', async (_label, given) => {
    const { outcome, lines, reported } = await run(async () => given);
    expect(outcome).toEqual({ status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: 'the worker failed' });
    expect(reported).toEqual([{ error: expect.any(TypeError) as TypeError, fields: ids }]);
    expect(lines).toMatchObject([
      { ...ids, outcome: 'FAILED_WITH_TERMINAL_ERROR', stack: expect.stringContaining('BigInt') as string },
    ]);
  });

  test('fails a task without input instead of throwing', async () => {
    const worker = supervise(
      { taskDefName: 'x', execute: () => Promise.reject(new TaskFailure('nothing to do')) },
      { log: recordingLog().log, reportError: () => undefined },
    );
    const bare: Partial<Task> = { ...task, inputData: {} };
    delete bare.inputData;
    expect(await worker.execute(bare as Task)).toMatchObject({ status: 'FAILED_WITH_TERMINAL_ERROR' });
  });
});
