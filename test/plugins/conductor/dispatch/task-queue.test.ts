// Races between workers' polls, looks at the engine and tasks that appear: none is lost, none is handed out twice.

import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { TaskQueue } from '../../../../plugins/conductor/dispatch/task-queue.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import { randomOfRun } from '../../../run/seed.ts';
import { byDepth } from '../../../run/depth.ts';

const log = createLog('test', 'silent');

/** An engine queue in memory whose answers can be held back, to put a look and a push in any order. */
class HeldEngine {
  queued: Task[] = [];
  looks: number[] = [];
  requeued: string[] = [];
  failing = false;
  #held: (() => void)[] | null = null;

  push(...names: string[]): void {
    this.queued.push(
      ...names.map((taskId) => ({
        taskId,
        taskDefName: 't',
        taskType: 't',
        referenceTaskName: 't',
        workflowInstanceId: `wf-${taskId}`,
      })),
    );
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const go of this.#held ?? []) go();
    this.#held = null;
  }

  async pollTasks(_type: string, { count }: { count: number }): Promise<Task[]> {
    this.looks.push(count);
    const tasks = this.failing ? [] : this.queued.splice(0, count);
    if (this.#held !== null) await new Promise<void>((resolve) => this.#held?.push(resolve));
    if (this.failing) throw new Error('engine away');
    return tasks;
  }

  async updateTask({ taskId }: TaskResult): Promise<void> {
    this.requeued.push(taskId);
    this.push(taskId);
  }
}

const queues: TaskQueue[] = [];
function createQueue(engine: HeldEngine): TaskQueue {
  const queue = new TaskQueue({ engine, taskType: 't', domain: undefined, log });
  queues.push(queue);
  return queue;
}
const poll = (queue: TaskQueue, { count = 1, timeoutMs = 5_000, signal = new AbortController().signal } = {}) =>
  queue.poll({ count, timeoutMs, signal, workerId: 'w' }).then((tasks) => tasks.map(({ taskId }) => taskId));

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(queues.splice(0).map((queue) => queue.stop()));
});

describe('a held poll', () => {
  it('is answered by an announced task without waiting for the idle look', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = poll(queue);
    await pollUntil('the first look', () => engine.looks.length === 1);
    engine.push('a');
    const startedAt = performance.now();
    queue.announce();
    expect(await waiting).toEqual(['a']);
    expect(performance.now() - startedAt).toBeLessThan(200);
  });

  it('finds a task nobody announced by the idle look', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = poll(queue);
    await pollUntil('the first look', () => engine.looks.length === 1);
    engine.push('a');
    expect(await waiting).toEqual(['a']);
  });

  it('shorter than the pause between looks finds a task nobody announced all the same', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    await poll(queue, { timeoutMs: 20 });
    engine.push('a');
    expect(await pollUntil('a short poll to get the task', async () => (await poll(queue, { timeoutMs: 50 }))[0])).toBe(
      'a',
    );
  });

  it('ends empty when its time is over', async () => {
    const queue = createQueue(new HeldEngine());
    expect(await poll(queue, { timeoutMs: 20 })).toEqual([]);
    expect(queue.heldPolls).toBe(0);
  });

  it('ends empty when its worker goes away', async () => {
    const queue = createQueue(new HeldEngine());
    const worker = new AbortController();
    const waiting = poll(queue, { signal: worker.signal });
    worker.abort();
    expect(await waiting).toEqual([]);
    expect(queue.heldPolls).toBe(0);
  });
});

describe('looks', () => {
  it('are one at a time however many workers wait', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    const waiting = Array.from({ length: 50 }, () => poll(queue, { timeoutMs: 300 }));
    for (let i = 0; i < 20; i++) queue.announce();
    await turn();
    expect(engine.looks).toHaveLength(1);
    engine.release();
    await Promise.all(waiting);
    expect(engine.looks.length).toBeLessThanOrEqual(4);
  });

  it('that race a push are repeated: a task pushed while a look is under way is found at once', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    const waiting = poll(queue);
    await turn();
    engine.push('late');
    queue.announce();
    engine.release();
    const startedAt = performance.now();
    expect(await waiting).toEqual(['late']);
    expect(performance.now() - startedAt).toBeLessThan(200);
  });

  it('go on after the engine has been away', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.failing = true;
    const waiting = poll(queue);
    await pollUntil('two failed looks', () => engine.looks.length >= 2);
    expect(queue.failing).toBe(true);
    engine.failing = false;
    engine.push('a');
    expect(await waiting).toEqual(['a']);
    expect(queue.failing).toBe(false);
  });

  it('ask for as many tasks as all waiting polls take together', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = [poll(queue, { count: 2 }), poll(queue, { count: 3 })];
    await pollUntil('the first look', () => engine.looks.length >= 1);
    engine.push('a', 'b', 'c', 'd');
    queue.announce();
    const [first, second] = await Promise.all(waiting);
    expect([...(first ?? []), ...(second ?? [])].sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(first).toHaveLength(2);
    expect(Math.max(...engine.looks)).toBe(5);
  });
});

describe('tasks', () => {
  it('are shared out in the order of arrival', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const answered: number[] = [];
    const waiting = [0, 1, 2, 3].map((n) => poll(queue).then((tasks) => (answered.push(n), tasks)));
    await pollUntil('all held', () => queue.heldPolls === 4);
    for (const name of ['a', 'b', 'c', 'd']) {
      engine.push(name);
      queue.announce();
      await pollUntil('one answered', () => answered.length > 'abcd'.indexOf(name));
    }
    expect((await Promise.all(waiting)).flat()).toEqual(['a', 'b', 'c', 'd']);
    expect(answered).toEqual([0, 1, 2, 3]);
  });

  it('fetched for a worker that has gone meanwhile go to the next one', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.push('a');
    engine.hold();
    const worker = new AbortController();
    const gone = poll(queue, { signal: worker.signal });
    await turn();
    worker.abort();
    expect(await gone).toEqual([]);
    engine.release();
    expect(await poll(queue)).toEqual(['a']);
  });

  it('go back to the engine when nobody comes for them', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    queue.giveBack([
      { taskId: 'a', taskDefName: 't', taskType: 't', referenceTaskName: 't', workflowInstanceId: 'wf' },
    ]);
    await pollUntil('the task to be requeued', () => engine.requeued.includes('a'));
    expect(await poll(queue)).toEqual(['a']);
  });

  it('go back to the engine when the router was suspended after it had fetched them', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.push('a');
    engine.hold();
    const waiting = poll(queue);
    await pollUntil('the look', () => engine.looks.length === 1);
    // As a machine that slept: the monotonic clock did not run.
    vi.setSystemTime(Date.now() + 60_000);
    engine.release();
    await pollUntil('the task to be requeued', () => engine.requeued.includes('a'));
    expect(await waiting).toEqual(['a']);
    expect(engine.looks.length).toBeGreaterThan(1);
  });

  it('in hand go back to the engine when the router stops', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    queue.giveBack([
      { taskId: 'a', taskDefName: 't', taskType: 't', referenceTaskName: 't', workflowInstanceId: 'wf' },
    ]);
    await queue.stop();
    expect(engine.requeued).toEqual(['a']);
  });

  it('are neither lost nor doubled while many workers come and go at random', async () => {
    const random = randomOfRun();
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const done: string[] = [];
    const names = Array.from({ length: 300 }, (_, n) => `t${n}`);
    let open = true;
    const worker = async () => {
      while (open) {
        const leave = new AbortController();
        const timer = setTimeout(() => leave.abort(), random.between(0, 20));
        done.push(...(await poll(queue, { count: 1 + random.below(3), signal: leave.signal })));
        clearTimeout(timer);
        await pause(random.between(0, 5));
      }
    };
    const workers = Array.from({ length: byDepth(50, 200) }, worker);
    for (const name of names) {
      engine.push(name);
      queue.announce();
      if (random.next() < 0.3) await pause(1);
    }
    await pollUntil('every task to be done', () => done.length >= names.length, { timeoutMs: 10_000 });
    open = false;
    await Promise.all(workers);
    expect([...done].sort()).toEqual([...names].sort());
    expect(queue.heldPolls).toBe(0);
  });
});

describe('a task that is dispatched directly', () => {
  const executionId = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  const task = (n: number): Task => ({
    taskId: `${executionId(n)}.t`,
    taskDefName: 't',
    taskType: 't',
    referenceTaskName: 't',
    workflowInstanceId: executionId(n),
  });
  /** The same task as the engine has it queued. */
  const queue = (engine: HeldEngine, n: number) =>
    engine.queued.push({ ...task(n), taskId: `own-${n}`, workflowInstanceId: executionId(n) });

  it('answers a held poll without a look', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    const waiting = poll(tasks);
    await pollUntil('the first look', () => engine.looks.length === 1);
    tasks.dispatchDirectly(task(1));
    expect(await waiting).toEqual([task(1).taskId]);
    expect(engine.looks).toHaveLength(1);
  });

  it('waits for the next poll when none is held', async () => {
    const tasks = createQueue(new HeldEngine());
    tasks.dispatchDirectly(task(1));
    expect(await poll(tasks)).toEqual([task(1).taskId]);
  });

  it('several go to one poll that takes them', async () => {
    const tasks = createQueue(new HeldEngine());
    for (const n of [1, 2, 3]) tasks.dispatchDirectly(task(n));
    expect(await poll(tasks, { count: 2 })).toHaveLength(2);
    expect(await poll(tasks, { count: 2 })).toHaveLength(1);
  });

  it('is not handed out again by a look that comes across it', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    tasks.dispatchDirectly(task(1));
    await poll(tasks);
    queue(engine, 1);
    tasks.announce();
    expect(await poll(tasks, { timeoutMs: 50 })).toEqual([]);
    expect(engine.queued).toEqual([]);
  });

  it('that no worker has yet goes out under the id a look has brought', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    engine.hold();
    const waiting = poll(tasks, { timeoutMs: 50 });
    await waiting;
    queue(engine, 1);
    tasks.dispatchDirectly(task(1));
    engine.release();
    const [id] = await poll(tasks);
    expect([`own-1`, task(1).taskId]).toContain(id);
    expect(await poll(tasks, { timeoutMs: 50 })).toEqual([]);
  });

  it('is not dispatched directly when a look has brought it before the response to its start', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    queue(engine, 1);
    expect(await poll(tasks)).toEqual(['own-1']);
    tasks.dispatchDirectly(task(1));
    expect(await poll(tasks, { timeoutMs: 50 })).toEqual([]);
  });

  it('is not handed out by a look that its result has overtaken; the result is confirmed', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    tasks.dispatchDirectly(task(1));
    await poll(tasks);
    queue(engine, 1);
    engine.hold();
    tasks.announce();
    const waiting = poll(tasks, { timeoutMs: 100 });
    await pollUntil('the look to be under way', () => engine.queued.length === 0);
    const confirmed: string[] = [];
    tasks.confirmDispatch(task(1).taskId, ({ taskId }) => confirmed.push(taskId));
    engine.release();
    expect(await waiting).toEqual([]);
    expect(confirmed).toEqual(['own-1']);
  });

  it('whose look was answered before its result is confirmed as well', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    tasks.dispatchDirectly(task(1));
    await poll(tasks);
    queue(engine, 1);
    tasks.announce();
    await poll(tasks, { timeoutMs: 50 });
    const confirmed: string[] = [];
    tasks.confirmDispatch(task(1).taskId, ({ taskId }) => confirmed.push(taskId));
    expect(confirmed).toEqual(['own-1']);
  });

  it('that was settled is not given to anybody, and comes back from no worker', async () => {
    const tasks = createQueue(new HeldEngine());
    tasks.dispatchDirectly(task(1));
    tasks.confirmDispatch(task(1).taskId);
    expect(await poll(tasks, { timeoutMs: 20 })).toEqual([]);
    tasks.giveBack([task(1)]);
    expect(await poll(tasks, { timeoutMs: 20 })).toEqual([]);
  });

  it('that was withdrawn is given to nobody while the engine still has it queued', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    for (const n of [1, 2]) tasks.dispatchDirectly(task(n));
    expect(await poll(tasks)).toEqual([task(1).taskId]);
    for (const n of [1, 2]) tasks.cancelDispatch(task(n).taskId);
    tasks.giveBack([task(1)]);
    queue(engine, 1);
    queue(engine, 2);
    tasks.announce();
    expect(await poll(tasks, { count: 4, timeoutMs: 50 })).toEqual([]);
    expect(engine.queued).toEqual([]);
    for (const n of [1, 2]) tasks.confirmDispatch(task(n).taskId);
    expect(tasks.idle).toBe(true);
  });

  it('that comes back goes to the next worker, never to the engine', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    tasks.dispatchDirectly(task(1));
    await poll(tasks);
    tasks.giveBack([task(1)]);
    await tasks.stop();
    expect(engine.requeued).toEqual([]);
    expect(await poll(tasks)).toEqual([task(1).taskId]);
  });
});
