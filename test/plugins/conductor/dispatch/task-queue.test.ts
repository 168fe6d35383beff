// Tests of races between workers' polls, fetches from the engine and new tasks: no task is lost or handed out twice.

import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { holdPoll } from '../../../../plugins/conductor/dispatch/held-poll.ts';
import { TaskQueue } from '../../../../plugins/conductor/dispatch/task-queue.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import { randomOfRun } from '../../../run/seed.ts';
import { byDepth } from '../../../run/depth.ts';

const log = createLog('test', 'silent');

const taskOf = (taskId: string): Task => ({
  taskId,
  taskDefName: 't',
  taskType: 't',
  referenceTaskName: 't',
  workflowInstanceId: `wf-${taskId}`,
  responseTimeoutSeconds: 90,
});

/** An in-memory engine queue whose responses can be held back, to arrange a fetch and a push in any order. */
class HeldEngine {
  queued: Task[] = [];
  /** Tasks in the domain of directly dispatched tasks. */
  orphans: Task[] = [];
  looks: number[] = [];
  requeued: string[] = [];
  failing = false;
  #held: (() => void)[] | null = null;

  push(...names: string[]): void {
    this.queued.push(...names.map(taskOf));
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const go of this.#held ?? []) go();
    this.#held = null;
  }

  async pollTasks(_type: string, { count, domain }: { count: number; domain?: string }): Promise<Task[]> {
    if (domain !== undefined) return this.orphans.splice(0, count);
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
/** The default timeout outlasts every pause of a busy machine: only polls that end empty need a shorter one. */
const poll = (queue: TaskQueue, { count = 1, timeoutMs = 60_000, signal = new AbortController().signal } = {}) =>
  holdPoll([{ queue, count }], { timeoutMs, signal, workerId: 'w' }).then((tasks) => tasks.map(({ taskId }) => taskId));

/** Faked clocks for a test in which no time passes: a timer is due at once or never. */
const standingStill: ('setTimeout' | 'clearTimeout' | 'performance')[] = ['setTimeout', 'clearTimeout', 'performance'];

/** Returns the value of a promise that resolves while the clocks stand still; undefined when it waits for a timer. */
async function withoutTime<T>(promise: Promise<T>): Promise<T | undefined> {
  await vi.advanceTimersByTimeAsync(0);
  return Promise.race([promise, turn(undefined)]);
}

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(queues.splice(0).map((queue) => queue.stop()));
});

describe('a held poll', () => {
  it('returns an announced task without waiting for the idle fetch', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = poll(queue);
    await vi.advanceTimersByTimeAsync(0);
    expect(engine.looks).toHaveLength(1);
    engine.push('a');
    queue.announce();
    expect(await withoutTime(waiting)).toEqual(['a']);
  });

  it('finds an unannounced task with the idle fetch', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = poll(queue);
    await pollUntil('the first fetch', () => engine.looks.length === 1);
    engine.push('a');
    expect(await waiting).toEqual(['a']);
  });

  it('that is shorter than the pause between fetches still finds an unannounced task', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    await poll(queue, { timeoutMs: 20 });
    engine.push('a');
    expect(await pollUntil('a short poll to get the task', async () => (await poll(queue, { timeoutMs: 50 }))[0])).toBe(
      'a',
    );
  });

  it('ends empty at its timeout', async () => {
    const queue = createQueue(new HeldEngine());
    expect(await poll(queue, { timeoutMs: 20 })).toEqual([]);
    expect(queue.heldPolls).toBe(0);
  });

  it('whose timeout passes during a fetch returns the task of that fetch', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    for (const name of ['a', 'b']) {
      engine.push(name);
      engine.hold();
      const waiting = poll(queue, { timeoutMs: 0 });
      await vi.advanceTimersByTimeAsync(150);
      engine.release();
      expect(await withoutTime(waiting)).toEqual([name]);
      // The worker performs the task, and polls again after the pause between fetches.
      await vi.advanceTimersByTimeAsync(2_000);
    }
    expect(engine.requeued).toEqual([]);
  });

  it('whose timeout passes during a fetch for other polls returns the task of the next fetch', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.push('a', 'b');
    engine.hold();
    const other = poll(queue);
    const waiting = poll(queue, { timeoutMs: 0 });
    await vi.advanceTimersByTimeAsync(150);
    engine.release();
    expect([await withoutTime(other), await withoutTime(waiting)]).toEqual([['a'], ['b']]);
  });

  it('ends empty 5 s after its timeout when the engine does not respond to the fetch', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    const waiting = poll(queue, { timeoutMs: 100 });
    await vi.advanceTimersByTimeAsync(5_099);
    expect(await withoutTime(waiting)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await withoutTime(waiting)).toEqual([]);
    engine.release();
  });

  it('whose timeout has passed during a fetch ends empty at once when the router stops', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    const waiting = poll(queue, { timeoutMs: 0 });
    await vi.advanceTimersByTimeAsync(150);
    void queue.stop();
    expect(await withoutTime(waiting)).toEqual([]);
    engine.release();
  });

  it('ends empty when its worker disconnects', async () => {
    const queue = createQueue(new HeldEngine());
    const worker = new AbortController();
    const waiting = poll(queue, { signal: worker.signal });
    worker.abort();
    expect(await waiting).toEqual([]);
    expect(queue.heldPolls).toBe(0);
  });
});

describe('stopping a queue', () => {
  it('returns the tasks of a fetch in progress to the engine', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.push('a');
    engine.hold();
    const waiting = poll(queue);
    const stopped = queue.stop();
    engine.release();
    await stopped;
    expect([await waiting, engine.requeued]).toEqual([[], ['a']]);
  });
});

describe('while every poll finds dispatched tasks', () => {
  const read = (n: number) => `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000.t`;

  /** Returns a queue that has fetched once and has dispatched tasks. */
  async function createBusyQueue(engine: HeldEngine): Promise<TaskQueue> {
    const queue = createQueue(engine);
    await poll(queue, { timeoutMs: 1 });
    for (let n = 1; n <= 4; n++) queue.dispatchDirectly(taskOf(read(n)));
    await turn();
    return queue;
  }

  it('dispatched tasks alternate with the tasks of the engine', async () => {
    const engine = new HeldEngine();
    const queue = await createBusyQueue(engine);
    engine.push('a', 'b');
    queue.announce();
    const taken = [];
    for (let n = 1; n <= 5; n++) taken.push(...(await poll(queue)));
    expect(taken).toEqual(['a', read(1), 'b', read(2), read(3)]);
  });

  it('an unannounced task of the engine is fetched as usual', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const idle = poll(queue, { timeoutMs: 0 });
    await vi.advanceTimersByTimeAsync(0);
    expect(await idle).toEqual([]);
    for (let n = 1; n <= 4; n++) queue.dispatchDirectly(taskOf(read(n)));
    await turn();
    engine.push('a');
    expect(await withoutTime(poll(queue))).toEqual([read(1)]);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await withoutTime(poll(queue))).toEqual(['a']);
  });

  it('a poll waits 100 ms for a slow fetch; a poll with a shorter timeout does not wait', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    for (let n = 1; n <= 4; n++) queue.dispatchDirectly(taskOf(read(n)));
    await turn();
    expect(await withoutTime(poll(queue, { timeoutMs: 20 }))).toEqual([read(1)]);
    const waiting = poll(queue);
    expect(await withoutTime(waiting)).toBeUndefined();
    await vi.advanceTimersByTimeAsync(100);
    expect(await withoutTime(waiting)).toEqual([read(2)]);
    engine.release();
  });

  it('a poll whose fetch returns nothing gets a dispatched task', async () => {
    const engine = new HeldEngine();
    const queue = await createBusyQueue(engine);
    queue.announce();
    engine.hold();
    const waiting = poll(queue);
    expect(await poll(queue)).toEqual([read(1)]);
    engine.release();
    expect(await waiting).toEqual([read(2)]);
  });
});

describe('a dispatched task that did not reach its worker', () => {
  it('is offered to other routers when no worker polls here', async () => {
    const waitings: string[] = [];
    const onWaiting = (waiting: string) => void waitings.push(waiting);
    const queue = new TaskQueue({ engine: new HeldEngine(), taskType: 't', domain: undefined, log, onWaiting });
    queues.push(queue);
    queue.giveBack([taskOf('00000000-0000-0000-0000-000000000000.t')]);
    expect(waitings).toEqual(['task']);
  });
});

describe('a poll in several queues', () => {
  const hold = (queues: TaskQueue[], counts: number[], workerId = 'w') =>
    holdPoll(
      queues.map((queue, index) => ({ queue, count: counts[index] as number })),
      { workerId, timeoutMs: 60_000, signal: new AbortController().signal },
    ).then((tasks) => tasks.map(({ taskId }) => taskId));

  it('gets a task of one queue, and is then held in no queue', async () => {
    const [first, second] = [new HeldEngine(), new HeldEngine()];
    const queues = [createQueue(first), createQueue(second)];
    const waiting = hold(queues, [1, 1]);
    await pollUntil('the first fetches', () => first.looks.length === 1 && second.looks.length === 1);
    second.push('b');
    queues[1]?.announce();
    expect(await waiting).toEqual(['b']);
    expect(queues.map(({ heldPolls }) => heldPolls)).toEqual([0, 0]);
  });

  it('takes the ready tasks of all queues, up to its count for each', async () => {
    const queues = [createQueue(new HeldEngine()), createQueue(new HeldEngine())];
    const task = (n: number) => ({ ...taskOf(`00000000-0000-4000-8000-00000000000${n}.t`) });
    for (const n of [1, 2]) queues[0]?.dispatchDirectly(task(n));
    for (const n of [3, 4]) queues[1]?.dispatchDirectly(task(n));
    expect((await hold(queues, [1, 2])).map((id) => id.at(-3))).toEqual(['1', '3', '4']);
    expect(await hold(queues, [1, 1])).toHaveLength(1);
  });

  it('gets an equal share of tasks that become ready together; a second poll of its worker stays held', async () => {
    const queue = createQueue(new HeldEngine());
    const polls = ['w', 'w', 'x'].map((workerId) => hold([queue], [4], workerId));
    await pollUntil('all polls to be held', () => queue.heldPolls === 3);
    for (const n of [1, 2, 3, 4]) queue.dispatchDirectly(taskOf(`00000000-0000-4000-8000-00000000000${n}.t`));
    expect(await polls[0]).toHaveLength(2);
    expect(await polls[2]).toHaveLength(2);
    expect(queue.heldPolls).toBe(1);
  });
});

describe('fetches from the engine', () => {
  it('run one at a time, however many workers wait', async () => {
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

  it('are repeated when a task is announced during a fetch, so that it is found at once', async () => {
    vi.useFakeTimers({ toFake: standingStill });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.hold();
    const waiting = poll(queue);
    await vi.advanceTimersByTimeAsync(0);
    engine.push('late');
    queue.announce();
    engine.release();
    expect(await withoutTime(waiting)).toEqual(['late']);
  });

  it('continue after the engine has been unavailable', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.failing = true;
    const waiting = poll(queue);
    await pollUntil('two failed fetches', () => engine.looks.length >= 2);
    expect(queue.failing).toBe(true);
    engine.failing = false;
    engine.push('a');
    expect(await waiting).toEqual(['a']);
    expect(queue.failing).toBe(false);
  });

  it('request as many tasks as all waiting polls take together', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const waiting = [poll(queue, { count: 2 }), poll(queue, { count: 3 })];
    await pollUntil('the first fetch', () => engine.looks.length >= 1);
    engine.push('a', 'b', 'c', 'd');
    queue.announce();
    const [first, second] = await Promise.all(waiting);
    expect([...(first ?? []), ...(second ?? [])].sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(first).toHaveLength(2);
    expect(Math.max(...engine.looks)).toBe(5);
  });
});

describe('tasks', () => {
  it('go to polls in the order in which the polls arrived', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    const answered: number[] = [];
    const waiting = [0, 1, 2, 3].map((n) => poll(queue).then((tasks) => (answered.push(n), tasks)));
    await pollUntil('all polls to be held', () => queue.heldPolls === 4);
    for (const name of ['a', 'b', 'c', 'd']) {
      engine.push(name);
      queue.announce();
      await pollUntil('a poll to get its task', () => answered.length > 'abcd'.indexOf(name));
    }
    expect((await Promise.all(waiting)).flat()).toEqual(['a', 'b', 'c', 'd']);
    expect(answered).toEqual([0, 1, 2, 3]);
  });

  it('fetched for a worker that has since disconnected go to the next worker', async () => {
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

  it('are returned to the engine when no worker polls for them', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    queue.giveBack([
      { taskId: 'a', taskDefName: 't', taskType: 't', referenceTaskName: 't', workflowInstanceId: 'wf' },
    ]);
    await pollUntil('the task to be requeued', () => engine.requeued.includes('a'));
    expect(await poll(queue)).toEqual(['a']);
  });

  /**
   * Returns an engine that holds back the fetch of one task, and the poll that waits for it. The wall clock can be set.
   */
  async function fetchInProgress() {
    vi.useFakeTimers({ toFake: ['Date'] });
    const engine = new HeldEngine();
    engine.push('a');
    engine.hold();
    const waiting = poll(createQueue(engine));
    await pollUntil('the fetch', () => engine.looks.length === 1);
    return { engine, waiting };
  }

  it('are returned to the engine when the router was suspended during their fetch', async () => {
    const { engine, waiting } = await fetchInProgress();
    // As on a machine that has slept, the monotonic clock has not advanced.
    vi.setSystemTime(Date.now() + 60_000);
    engine.release();
    await pollUntil('the task to be requeued', () => engine.requeued.includes('a'));
    expect(await waiting).toEqual(['a']);
    expect(engine.looks.length).toBeGreaterThan(1);
  });

  it('go to a worker although the engine needed seconds for their fetch', async () => {
    const { engine, waiting } = await fetchInProgress();
    vi.setSystemTime(Date.now() + 20_000);
    engine.release();
    expect(await waiting).toEqual(['a']);
    expect(engine.requeued).toEqual([]);
  });

  it('are returned to the engine when the router was suspended after their fetch', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    engine.push('a');
    engine.hold();
    const worker = new AbortController();
    const gone = poll(queue, { signal: worker.signal });
    await turn();
    worker.abort();
    await gone;
    engine.release();
    await turn();
    expect(queue.readyTasks).toBe(1);
    vi.setSystemTime(Date.now() + 6_000);
    expect(await poll(queue)).toEqual(['a']);
    expect(engine.requeued).toEqual(['a']);
  });

  it('that the router holds are returned to the engine when the router stops', async () => {
    const engine = new HeldEngine();
    const queue = createQueue(engine);
    queue.giveBack([
      { taskId: 'a', taskDefName: 't', taskType: 't', referenceTaskName: 't', workflowInstanceId: 'wf' },
    ]);
    await queue.stop();
    expect(engine.requeued).toEqual(['a']);
  });

  it('are neither lost nor duplicated while many workers connect and disconnect at random', async () => {
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
    await pollUntil('every task to be done', () => done.length >= names.length);
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
  it('whose router has stopped is found in the engine by the first poll', async () => {
    const engine = new HeldEngine();
    engine.orphans.push({ ...task(1), taskId: 'own-1', domain: 'direct-dispatch' });
    expect(await poll(createQueue(engine))).toEqual(['own-1']);
  });

  it('when several routers have stopped: polls get the old tasks and one recent task', async () => {
    const engine = new HeldEngine();
    const age = (n: number, ms: number) => ({ ...task(n), taskId: `own-${n}`, scheduledTime: 0, startTime: ms });
    engine.orphans.push(age(1, 600_000), age(2, 300_000), age(3, 10), age(4, 10));
    const tasks = createQueue(engine);
    expect(await poll(tasks)).toEqual(['own-1']);
    expect([await poll(tasks), await poll(tasks)].flat()).toEqual(['own-2', 'own-3']);
    expect(engine.orphans).toHaveLength(1);
  });

  it('goes to a held poll without a fetch', async () => {
    const engine = new HeldEngine();
    const tasks = createQueue(engine);
    const waiting = poll(tasks);
    await pollUntil('the first fetch', () => engine.looks.length === 1);
    tasks.dispatchDirectly(task(1));
    expect(await waiting).toEqual([task(1).taskId]);
    expect(engine.looks).toHaveLength(1);
  });

  it('waits for the next poll when none is held', async () => {
    const tasks = createQueue(new HeldEngine());
    tasks.dispatchDirectly(task(1));
    expect(await poll(tasks)).toEqual([task(1).taskId]);
  });

  it('goes to one poll together with other tasks, up to the count of the poll', async () => {
    const tasks = createQueue(new HeldEngine());
    for (const n of [1, 2, 3]) tasks.dispatchDirectly(task(n));
    expect(await poll(tasks, { count: 2 })).toHaveLength(2);
    expect(await poll(tasks, { count: 2 })).toHaveLength(1);
  });

  it('that was cancelled goes to no worker', async () => {
    const tasks = createQueue(new HeldEngine());
    tasks.dispatchDirectly(task(1));
    tasks.cancelDispatch(task(1).taskId);
    expect(await poll(tasks, { timeoutMs: 20 })).toEqual([]);
    expect(tasks.idle).toBe(true);
  });

  it('goes to another router only while no worker has it; a task that was fetched from the engine never does', () => {
    const tasks = createQueue(new HeldEngine());
    for (const n of [1, 2, 3]) tasks.dispatchDirectly(task(n));
    tasks.giveBack([{ ...task(4), taskId: 'own-4' }]);
    expect(tasks.takeDispatched(2)).toEqual([task(1), task(2)]);
    expect(tasks.takeDispatched(2)).toEqual([task(3)]);
    expect(tasks.takeDispatched(2)).toEqual([]);
  });

  it('that is given back goes to the next worker, never to the engine', async () => {
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
