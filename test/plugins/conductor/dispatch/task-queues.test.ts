// Queues that workers invent are not kept for ever; those in use are.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('beyond 1,000: those that nobody has polled for a minute are forgotten, the others stay', async () => {
  const engine = { pollTasks: async () => [], updateTask: async () => undefined };
  const queues = new TaskQueues(engine, createLog('test', 'silent'));
  const names = Array.from({ length: 1_000 }, (_, index) => ({ taskType: `invented_${index}` }));
  const poll = (name: { taskType: string }, timeoutMs: number) => {
    queues.notePoll(name.taskType);
    return queues.queue(name).poll({ count: 1, workerId: 'w', timeoutMs, signal: new AbortController().signal });
  };
  const polls = names.map((name) => poll(name, 0));
  const held = poll(names[1]!, 120_000);
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all(polls);
  const before = names.map((name) => queues.queue(name));
  await vi.advanceTimersByTimeAsync(60_000);
  void poll(names[2]!, 0);
  await vi.advanceTimersByTimeAsync(1);
  for (const [index, name] of names.entries())
    expect(queues.queue(name), 'without a new one nothing is forgotten').toBe(before[index]);

  queues.queue({ taskType: 'one_more' });
  expect(queues.queue(names[1]!), 'a poll is held').toBe(before[1]);
  expect(queues.queue(names[2]!), 'polled lately').toBe(before[2]);
  expect(queues.queue(names[0]!)).not.toBe(before[0]);
  expect(queues.sincePollMs('invented_0')).toBeLessThan(120_000);
  await queues.stop();
  await held;
});
