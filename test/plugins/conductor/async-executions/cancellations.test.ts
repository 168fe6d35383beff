// Tests of cancellations that race with the engine and workers: a task that a worker has taken continues, and other
// tasks never run.

import { afterEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../../stack/poll-until.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { cancellationReason } from '#lib/conductor/executions/cancelled.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import { Cancellations } from '../../../../plugins/conductor/async-executions/cancellations.ts';

const cancelled = cancellationReason({});
const linksOf = (id: string) => ({ self: `/executions/${id}`, response: `/executions/${id}/response` });

function execution(status: WorkflowStatus, { reason = '', polls = 0, resumedAt = 0 } = {}): WholeExecution {
  const task = { taskId: 't', taskType: 't', referenceTaskName: 't', status: 'SCHEDULED', pollCount: polls };
  const fields = { workflowId: 'e-1', workflowName: 'w', workflowVersion: 1, input: {}, output: {} };
  const tasks: ExecutedTask[] = [task];
  const times = { startTime: 1, endTime: 0, lastRetriedTime: resumedAt };
  return { ...fields, ...times, status, reasonForIncompletion: reason, tasks };
}

let stop = async () => {};
afterEach(() => stop());

interface EngineFaults {
  /** Result or error of a pause. */
  pauses?: boolean | Error;
  /** Error of a termination. */
  terminates?: Error;
  /** Number of resumes that fail, and their error. */
  failures?: number;
  failure?: Error;
  /** The current state; undefined when it cannot be read. */
  state?: WorkflowStatus;
  /** States that earlier reads return. */
  states?: WorkflowStatus[];
  /** Promises that a call to pause and a read of the state wait for. */
  pausing?: Promise<void>;
  looking?: Promise<void>;
  settledMs?: number;
  maxStopMs?: number;
}

/** Creates an engine whose reads of the execution return `looks` one after the other; the last one is repeated. */
function setUp(looks: (WholeExecution | null)[], faults: EngineFaults = {}) {
  const { terminates, failures = 0, failure = new Error('away') } = faults;
  const { settledMs = 60_000, maxStopMs = 5_000 } = faults;
  const calls: string[] = [];
  let reads = 0;
  const engine = {
    async pause() {
      calls.push('pause');
      await faults.pausing;
      const { pauses = true } = faults;
      if (pauses instanceof Error) throw pauses;
      return pauses;
    },
    async resume() {
      calls.push('resume');
      if (resumes(calls) <= failures) throw failure;
    },
    async terminate(_id: string, reason: string) {
      calls.push(`terminate: ${reason}`);
      if (terminates !== undefined) throw terminates;
    },
  };
  const executions = {
    readWhole: async () => (looks.length > 1 ? looks.shift() : looks[0]) ?? null,
    async readState() {
      reads++;
      await faults.looking;
      const state = faults.states?.shift() ?? faults.state;
      if (state === undefined) throw new Error('away');
      return state;
    },
  };
  const wakeUps = { executionChanged: (id: string) => void calls.push(`changed ${id}`) };
  const cancellations = new Cancellations({ engine, executions, wakeUps, everyMs: 2, settledMs, maxStopMs });
  stop = () => cancellations.stop();
  const cancel = (given = execution('RUNNING')) => cancellations.cancel(given, linksOf);
  return { calls, reads: () => reads, cancel };
}

const running = execution('RUNNING');
const paused = execution('PAUSED');
const gone = execution('TERMINATED', { reason: cancelled });
const refusal = (status: number) => new EngineError('refused', `responded with ${status}`, { status });
const resumes = (calls: readonly string[]) => calls.filter((call) => call === 'resume').length;
const problem = (code: string) => expect.objectContaining({ code, extensions: { links: linksOf('e-1') } });

describe('cancellation', () => {
  it('pauses, reads, terminates, and wakes waiting clients', async () => {
    const { calls, cancel } = setUp([running, paused, gone]);
    expect(await cancel()).toBe(gone);
    expect(calls).toEqual(['pause', `terminate: ${cancelled}`, 'changed e-1']);
  });

  it('returns an execution that is already cancelled, without a call to the engine', async () => {
    const { calls, cancel } = setUp([null]);
    expect(await cancel(gone)).toBe(gone);
    expect(calls).toEqual([]);
  });

  it.each([
    ['ended before the cancellation', execution('COMPLETED'), [running]],
    ['ended since it was looked up', running, [execution('FAILED')]],
    ['been terminated by someone else', running, [execution('TERMINATED', { reason: 'by hand' })]],
  ])('refuses to cancel an execution that has %s: execution-ended', async (_title, given, looks) => {
    const { calls, cancel } = setUp(looks);
    await expect(cancel(given)).rejects.toEqual(problem('execution-ended'));
    expect(calls).toEqual([]);
  });

  it('refuses to cancel an execution whose task a worker has: execution-under-way', async () => {
    const { calls, cancel } = setUp([execution('RUNNING', { polls: 1 })]);
    await expect(cancel()).rejects.toEqual(problem('execution-under-way'));
    expect(calls).toEqual([]);
  });

  it('resumes an execution whose task a worker took before the pause: execution-under-way', async () => {
    const { calls, cancel } = setUp([running, execution('PAUSED', { polls: 1 })]);
    await expect(cancel()).rejects.toEqual(problem('execution-under-way'));
    expect(calls).toEqual(['pause', 'resume']);
  });

  it.each([
    ['cannot be paused', [running, execution('COMPLETED')], { pauses: false }, ['pause']],
    ['ends while it is being paused', [running, execution('COMPLETED')], {}, ['pause', 'resume']],
  ])('refuses to cancel an execution that %s: execution-ended', async (_title, looks, options, expected) => {
    const { calls, cancel } = setUp(looks, options);
    await expect(cancel()).rejects.toEqual(problem('execution-ended'));
    expect(calls).toEqual(expected);
  });

  it('resumes an execution that the engine does not terminate, and throws the error', async () => {
    const { calls, cancel } = setUp([running, paused], { terminates: refusal(404) });
    await expect(cancel()).rejects.toThrow('404');
    expect(calls).toEqual(['pause', `terminate: ${cancelled}`, 'resume']);
  });

  it('resumes the execution once the engine responds again', async () => {
    const faults: EngineFaults = { terminates: refusal(404), failures: 2 };
    const { calls, reads, cancel } = setUp([running, paused], faults);
    await expect(cancel()).rejects.toThrow('404');
    await pollUntil('reads from an engine that is unavailable', () => reads() > 3);
    faults.state = 'PAUSED';
    await pollUntil('the execution to be resumed', () => resumes(calls) === 3);
  });

  it('retries the resume when the engine fails and the execution is still paused', async () => {
    const faults = { terminates: refusal(404), failures: 2, failure: refusal(500), state: 'PAUSED' } as const;
    const { calls, cancel } = setUp([running, paused], faults);
    await expect(cancel()).rejects.toThrow('404');
    await pollUntil('the execution to be resumed', () => resumes(calls) === 3);
  });

  it('does not retry a resume that the engine refuses with 500 because the execution is not paused', async () => {
    const faults = { terminates: refusal(404), failures: 9, failure: refusal(500), state: 'RUNNING' } as const;
    const { calls, cancel } = setUp([running, paused], faults);
    await expect(cancel()).rejects.toThrow('404');
    // When the router stops, a scheduled retry is made at once.
    await stop();
    expect(resumes(calls)).toBe(1);
  });

  it('resumes an execution that the engine pauses after the response to the pause was lost', async () => {
    const pauses = new EngineError('interrupted', 'lost');
    const states: WorkflowStatus[] = ['RUNNING', 'RUNNING'];
    const { calls, reads, cancel } = setUp([running], { pauses, states, state: 'PAUSED', settledMs: 1_000 });
    await expect(cancel()).rejects.toThrow('lost');
    await pollUntil('the execution to be resumed', () => resumes(calls) === 1);
    expect(reads()).toBeGreaterThan(2);
  });

  it('resumes an execution after a failed termination, once the engine can no longer terminate it', async () => {
    const { calls, cancel } = setUp([running, paused], { terminates: refusal(500), state: 'PAUSED', settledMs: 100 });
    await expect(cancel()).rejects.toThrow('500');
    expect(calls).toEqual(['pause', `terminate: ${cancelled}`]);
    await pollUntil('the execution to be resumed', () => resumes(calls) === 1);
  });

  it('resumes an execution whose cancellation fails while the router stops', async () => {
    const pausing = Promise.withResolvers<void>();
    const { calls, cancel } = setUp([running], { pausing: pausing.promise, pauses: refusal(500), state: 'PAUSED' });
    const cancelling = cancel();
    await pollUntil('the pause', () => calls.includes('pause'));
    const stopped = stop();
    pausing.resolve();
    await expect(cancelling).rejects.toThrow('500');
    await stopped;
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('before the stop ends, resumes an execution that may have been paused', async () => {
    const { calls, cancel } = setUp([running], { pauses: refusal(500), state: 'PAUSED' });
    await expect(cancel()).rejects.toThrow('500');
    await stop();
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('does not resume an execution that a second request cancels, whatever the result of the first pause', async () => {
    const faults: EngineFaults = { pauses: refusal(500), state: 'PAUSED' };
    const { calls, cancel } = setUp([running, running, paused, gone], faults);
    await expect(cancel()).rejects.toThrow('500');
    faults.pauses = true;
    expect(await cancel()).toBe(gone);
    await stop();
    expect(resumes(calls)).toBe(0);
  });

  it('does not resume an execution that a second request cancels while its state is read', async () => {
    const looking = Promise.withResolvers<void>();
    const faults: EngineFaults = { pauses: refusal(500), state: 'PAUSED', looking: looking.promise };
    const { calls, reads, cancel } = setUp([running, running, paused, gone], faults);
    await expect(cancel()).rejects.toThrow('500');
    await pollUntil('a read of the state', () => reads() > 0);
    faults.pauses = true;
    const second = cancel();
    looking.resolve();
    expect(await second).toBe(gone);
    await stop();
    expect(resumes(calls)).toBe(0);
  });

  it('resumes an execution that the first request may have paused and the second cannot cancel', async () => {
    const faults: EngineFaults = { pauses: refusal(500), state: 'PAUSED' };
    const { calls, cancel } = setUp([running, execution('PAUSED', { polls: 1 })], faults);
    await expect(cancel()).rejects.toThrow('500');
    await expect(cancel()).rejects.toEqual(problem('execution-under-way'));
    await stop();
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('during the stop, tries to resume an execution until the engine no longer fails', async () => {
    const faults: EngineFaults = { pauses: refusal(500), failures: 2, failure: refusal(500), state: 'PAUSED' };
    const { calls, cancel } = setUp([running], faults);
    await expect(cancel()).rejects.toThrow('500');
    await stop();
    expect(calls).toEqual(['pause', 'resume', 'resume', 'resume']);
  });

  it('stops even if an execution cannot be resumed, and makes no attempt after the stop', async () => {
    const { calls, reads, cancel } = setUp([running], { pauses: refusal(500), maxStopMs: 20 });
    await expect(cancel()).rejects.toThrow('500');
    await stop();
    const atStop = reads();
    expect(atStop).toBeGreaterThan(0);
    await pollUntil('the last read to end', () => reads() <= atStop + 1);
    expect(resumes(calls)).toBe(0);
  });

  it('resumes an execution once when its pause has failed for two requests', async () => {
    const { calls, cancel } = setUp([running], { pauses: refusal(500), state: 'PAUSED' });
    await expect(cancel()).rejects.toThrow('500');
    await expect(cancel()).rejects.toThrow('500');
    await stop();
    expect(calls).toEqual(['pause', 'pause', 'resume']);
  });

  it('cancels once for concurrent requests', async () => {
    const { calls, cancel } = setUp([running, paused, gone]);
    expect(await Promise.all([cancel(), cancel()])).toEqual([gone, gone]);
    expect(calls.filter((call) => call === 'pause')).toHaveLength(1);
  });

  it.each([
    ['was not sent', new EngineError('unreachable', 'lost')],
    ['was refused', refusal(404)],
  ])('does not resume an execution whose pause %s', async (_title, pauses) => {
    const { calls, reads, cancel } = setUp([running], { pauses, state: 'PAUSED' });
    await expect(cancel()).rejects.toBe(pauses);
    await stop();
    expect([calls, reads()]).toEqual([['pause'], 0]);
  });

  it.each(['RUNNING', 'PAUSED'] as const)(
    'does not report a %s execution as cancelled when another router has meanwhile resumed it for a worker',
    async (status) => {
      const polled = execution('TERMINATED', { reason: cancelled, polls: 1, resumedAt: 5 });
      const { calls, cancel } = setUp([execution(status), paused, polled]);
      await expect(cancel()).rejects.toEqual(problem('execution-under-way'));
      expect(calls).toEqual(['pause', `terminate: ${cancelled}`, 'changed e-1']);
      await expect(cancel(polled), 'a second time').rejects.toEqual(problem('execution-ended'));
    },
  );

  it('returns an execution that had been resumed and was paused again, although its task was polled', async () => {
    const reason = cancellationReason({ lastRetriedTime: 5 });
    const polled = execution('TERMINATED', { reason, polls: 1, resumedAt: 5 });
    const { calls, cancel } = setUp([running, execution('PAUSED', { resumedAt: 5 }), polled]);
    expect(await cancel()).toBe(polled);
    expect(calls).toContain(`terminate: ${reason}`);
    expect(await cancel(polled), 'a second time').toBe(polled);
  });

  it('returns an execution whose task a router polled and withheld during the cancellation', async () => {
    const withheld = { ...gone, tasks: execution('TERMINATED', { polls: 1 }).tasks };
    const { cancel } = setUp([running, paused, withheld]);
    expect(await cancel()).toBe(withheld);
  });

  it('does not terminate an execution that another router has resumed, because a worker may get its task', async () => {
    const { calls, cancel } = setUp([running, execution('RUNNING', { resumedAt: 5 })]);
    await expect(cancel()).rejects.toThrow('the execution did not stay paused');
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('fails when the execution still runs after the termination', async () => {
    const { cancel } = setUp([running, paused, null]);
    await expect(cancel()).rejects.toThrow('the engine did not cancel the execution');
  });
});
