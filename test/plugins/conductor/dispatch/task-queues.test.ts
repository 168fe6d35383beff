// Tests of the limits of task queues: when a queue is added to 1,000 queues, idle queues are deleted, except those with
// a held poll. Poll times of 10,000 queues are kept.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('when a queue is added to 1,000 others, forgets those that no worker has polled for a minute', async () => {
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
    expect(queues.queue(name), 'nothing is forgotten until a queue is added').toBe(before[index]);

  queues.queue({ taskType: 'one_more' });
  expect(queues.queue(names[1]!), 'a poll is held').toBe(before[1]);
  expect(queues.queue(names[2]!), 'polled recently').toBe(before[2]);
  expect(queues.queue(names[0]!)).not.toBe(before[0]);
  expect(queues.sincePollMs({ taskType: 'invented_0' })).toBeLessThan(120_000);
  for (let index = 0; index < 2_000; index += 1) void poll({ taskType: `of_the_last_minute_${index}` }, 0);
  await vi.advanceTimersByTimeAsync(1);
  queues.queue({ taskType: 'one_too_many' });
  expect([...queues].length, 'idle queues are deleted to make room').toBeLessThanOrEqual(1_001);
  await queues.stop();
  await held;
});

it('remembers the latest polls of 10,000 queues', () => {
  const engine = { pollTasks: async () => [], updateTask: async () => undefined };
  const queues = new TaskQueues(engine, createLog('test', 'silent'));
  const note = (taskType: string) => queues.notePoll({ taskType });
  for (const taskType of ['polled_again', 'polled_once']) note(taskType);
  for (let index = 2; index < 10_000; index += 1) note(`invented_${index}`);
  note('polled_again');
  expect(queues.isPolled('polled_once', 60_000)).toBe(true);
  note('one_more');
  expect(queues.isPolled('polled_once', 60_000)).toBe(false);
  expect(queues.isPolled('polled_again', 60_000)).toBe(true);
});

it('a poll in one domain: its time is that of this domain only, and the task type is polled', async () => {
  const engine = { pollTasks: async () => [], updateTask: async () => undefined };
  const queues = new TaskQueues(engine, createLog('test', 'silent'));
  const taskType = 'college-adaptor_intake';
  const wanted = [{ taskType, domain: '002', count: 1 }];
  const poll = queues.poll(wanted, { workerId: 'w', timeoutMs: 0, signal: new AbortController().signal });
  await vi.advanceTimersByTimeAsync(1);
  await poll;
  await vi.advanceTimersByTimeAsync(30_000);
  const sincePolls = [{ taskType, domain: '002' }, { taskType, domain: '003' }, { taskType }].map((name) =>
    queues.sincePollMs(name),
  );
  expect(sincePolls).toEqual([expect.closeTo(30_000, -2), Infinity, Infinity]);
  expect(queues.isPolled(taskType, 60_000)).toBe(true);
  expect(queues.isPolled('adaptor_intake', 60_000)).toBe(false);
  await queues.stop();
});
