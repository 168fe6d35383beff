// Tests of task queues: at 1,000 queues, a new one deletes idle queues; queues with a held poll are kept. Poll times of
// 10,000 task types are kept.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('at 1,000 queues, forgets those that nobody has polled for a minute when another is added', async () => {
  const engine = { pollTasks: async () => [], updateTask: async () => undefined };
  const queues = new TaskQueues(engine, createLog('test', 'silent'));
  const names = Array.from({ length: 1_000 }, (_, index) => ({ taskType: `invented_${index}` }));
  const poll = (name: { taskType: string }, timeoutMs: number) =>
    queues.poll([{ ...name, count: 1 }], { workerId: 'w', timeoutMs, signal: new AbortController().signal });
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
  for (let index = 0; index < 2_000; index += 1) void poll({ taskType: `of_the_last_minute_${index}` }, 0);
  await vi.advanceTimersByTimeAsync(1);
  queues.queue({ taskType: 'one_too_many' });
  expect([...queues].length, 'idle ones make room').toBeLessThanOrEqual(1_001);
  await queues.stop();
  await held;
});

it('remembers the latest polls of 10,000 task types', () => {
  const engine = { pollTasks: async () => [], updateTask: async () => undefined };
  const queues = new TaskQueues(engine, createLog('test', 'silent'));
  for (const taskType of ['polled_again', 'polled_once']) queues.notePoll(taskType);
  for (let index = 2; index < 10_000; index += 1) queues.notePoll(`invented_${index}`);
  queues.notePoll('polled_again');
  expect(queues.isPolled('polled_once', 60_000)).toBe(true);
  queues.notePoll('one_more');
  expect(queues.isPolled('polled_once', 60_000)).toBe(false);
  expect(queues.isPolled('polled_again', 60_000)).toBe(true);
});
