// Tests of completion waiters: a wait ends with an update of its execution, a fallback read, its deadline or its
// signal, and leaves nothing behind.

import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { type ExecutionDependencies, waitForEnd } from '../../../../plugins/conductor/execution/executions.ts';
import { noRecorder } from '#lib/records/recorder.ts';
import { CompletionWaiters } from '../../../../plugins/conductor/dispatch/completion-waiters.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';

const log = createLog('test', 'silent');
afterEach(() => void vi.useRealTimers());
const running: ExecutionStatus = { workflowId: 'x', status: 'RUNNING' };
const completed: ExecutionStatus = { workflowId: 'x', status: 'COMPLETED', output: { a: 1 } };

/** Signal of a client that stays connected. */
const here = new AbortController().signal;

function engineThatSays(...answers: (ExecutionStatus | Error)[]) {
  const engine = {
    reads: 0,
    async getStatus() {
      const answer = answers[Math.min(engine.reads++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer as ExecutionStatus;
    },
  };
  return engine;
}

describe('a wait', () => {
  it('ends with the status from the update, without a read', async () => {
    const engine = engineThatSays(running);
    const waits = new CompletionWaiters(engine, log);
    const waiting = waits.waitFor('x', 5_000, here);
    waits.wake('x', completed);
    expect(await waiting).toEqual(completed);
    expect(engine.reads).toBe(0);
    expect(waits.size).toBe(0);
  });

  it('that is woken without a status reads the status once', async () => {
    const engine = engineThatSays(completed);
    const waits = new CompletionWaiters(engine, log);
    const waiting = waits.waitFor('x', 5_000, here);
    waits.wake('x');
    expect(await waiting).toEqual(completed);
    expect(engine.reads).toBe(1);
  });

  it('is not ended by an update that leaves the execution running', async () => {
    const engine = engineThatSays(completed);
    const waits = new CompletionWaiters(engine, log);
    const waiting = waits.waitFor('x', 5_000, here);
    waits.wake('x', running);
    expect(await waiting).toEqual(completed);
  });

  it('ends at once when the update arrived before the wait began, ahead of the response to the start', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const waits = new CompletionWaiters(engineThatSays(completed), log);
    waits.wake('x', completed);
    const waiting = waits.waitFor('x', 5_000, here);
    await vi.advanceTimersByTimeAsync(0);
    expect(await Promise.race([waiting, turn('waits for a timer')])).toEqual(completed);
  });

  it('ends by fallback reads when no update arrives at this router, even if the engine fails at times', async () => {
    const engine = engineThatSays(new Error('away'), running, completed);
    const waits = new CompletionWaiters(engine, log);
    expect(await waits.waitFor('x', 5_000, here)).toEqual(completed);
    expect(engine.reads).toBe(3);
  });

  it('ends with null when its client disconnects, and leaves nothing behind', async () => {
    const waits = new CompletionWaiters(engineThatSays(running), log);
    const client = new AbortController();
    const waiting = waits.waitFor('x', 5_000, client.signal);
    client.abort();
    expect(await waiting).toBeNull();
    expect(waits.size).toBe(0);
  });

  it('ends with null at its deadline, and leaves nothing behind', async () => {
    const waits = new CompletionWaiters(engineThatSays(running), log);
    expect(await waits.waitFor('x', 30, here)).toBeNull();
    expect(waits.size).toBe(0);
  });

  it('ends with null at once when its signal is already aborted', async () => {
    const waits = new CompletionWaiters(engineThatSays(running), log);
    expect(await waits.waitFor('x', 5_000, AbortSignal.abort())).toBeNull();
  });
});

describe('the drain signal, which lives as long as the router', () => {
  /**
   * Returns the number of dependent signals that `AbortSignal.any` has left on a signal; Node keeps them until they
   * are garbage-collected, if ever.
   */
  const dependentsOf = (signal: AbortSignal) => {
    const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals');
    return key === undefined ? 0 : (((signal as never)[key] as { size: number } | undefined)?.size ?? 0);
  };
  const draining = new AbortController();
  const client = new AbortController();
  const parts = {
    waiters: new CompletionWaiters(engineThatSays(running), log),
    recorder: noRecorder,
    draining: draining.signal,
  } as unknown as ExecutionDependencies;
  const execution = { executionId: 'x', forget: () => undefined, cancelDispatch: undefined };
  const options = {
    waitMs: 5_000,
    deadlineAt: performance.now() + 5_000,
    readOnly: true,
    clientGone: client.signal,
    respondsAsync: true,
    linksOf: () => ({ self: '', response: '' }),
  };
  const wait = () => waitForEnd(execution, options, parts);

  it('keeps no listener and no dependent signal after a wait has ended', async () => {
    const several = Array.from({ length: 100 }, wait);
    expect(getEventListeners(draining.signal, 'abort')).toHaveLength(100);
    parts.waiters.wake('x', completed);
    await Promise.all(several);
    for (const signal of [draining.signal, client.signal]) {
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      expect(dependentsOf(signal)).toBe(0);
    }
  });

  it('ends the wait of a client that can retrieve the result later', async () => {
    const waiting = wait();
    draining.abort();
    expect(await waiting).toBe('later');
    expect(await wait()).toBe('later');
  });
});

describe('several waits for one execution', () => {
  it('all end with the update, and share their reads', async () => {
    const engine = engineThatSays(running);
    const waits = new CompletionWaiters(engine, log);
    const waiting = [1, 2, 3].map(() => waits.waitFor('x', 5_000, here));
    expect(waits.size).toBe(3);
    waits.wake('x');
    waits.wake('x', completed);
    expect(await Promise.all(waiting)).toEqual([completed, completed, completed]);
    expect(engine.reads).toBe(1);
    expect(waits.size).toBe(0);
  });

  it('one that reaches its deadline leaves the others waiting and reading', async () => {
    const waits = new CompletionWaiters(engineThatSays(running, completed), log);
    const patient = waits.waitFor('x', 5_000, here);
    expect(await waits.waitFor('x', 1, here)).toBeNull();
    expect(waits.size).toBe(1);
    expect(await patient).toEqual(completed);
  });

  it('one that begins after the update gets the status as well', async () => {
    const waits = new CompletionWaiters(engineThatSays(completed), log);
    const first = waits.waitFor('x', 5_000, here);
    waits.wake('x', completed);
    const second = waits.waitFor('x', 5_000, here);
    expect(await Promise.all([first, second])).toEqual([completed, completed]);
    expect(waits.size).toBe(0);
  });
});
