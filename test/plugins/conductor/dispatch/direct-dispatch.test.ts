// Tests of routers that pass tasks to each other: each task reaches one worker, wherever polls are held, and a router
// that stops returns its tasks.

import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { DirectDispatch, type DispatchMessage } from '../../../../plugins/conductor/dispatch/direct-dispatch.ts';
import { TaskQueues } from '../../../../plugins/conductor/dispatch/task-queues.ts';
import { byDepth } from '../../../run/depth.ts';
import { randomOfRun } from '../../../run/seed.ts';
import { pollUntil } from '../../../stack/poll-until.ts';

const log = createLog('test', 'silent');
const queue = { taskType: 't', domain: '002' };

/** Routers connected by a bus that delivers messages in order, like Redis. */
class Routers {
  readonly #routers = new Map<string, DirectDispatch>();
  readonly messages: DispatchMessage[] = [];
  readonly handedOut: Task[] = [];
  readonly queues: TaskQueues[] = [];
  isConnected = true;

  add() {
    const own = String(this.#routers.size);
    const engine = { pollTasks: async (): Promise<Task[]> => [], updateTask: async () => undefined };
    const queues = new TaskQueues(engine, log);
    const peers = {
      send: (message: DispatchMessage, router?: string) => this.#send(own, message, router),
      isConnected: this.isConnected,
      isConfigured: true,
    };
    const dispatch = new DirectDispatch({ queues, peers, handedOut: (task) => this.handedOut.push(task) });
    this.#routers.set(own, dispatch);
    this.queues.push(queues);
    return { dispatch, queues, engine };
  }

  #send(from: string, message: DispatchMessage, to?: string): void {
    this.messages.push(message);
    const text = JSON.stringify(message);
    for (const [name, router] of this.#routers) {
      if (name === from || (to !== undefined && name !== to)) continue;
      setImmediate(() => router.receive(JSON.parse(text) as DispatchMessage, from));
    }
  }
}

const taskOf = (n: number): Task => {
  const workflowInstanceId = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  return {
    taskId: `${workflowInstanceId}.t`,
    taskDefName: 't',
    taskType: 't',
    referenceTaskName: 't',
    domain: '002',
    workflowInstanceId,
  };
};

let routers = new Routers();
afterEach(async () => {
  await Promise.all(routers.queues.map((queues) => queues.stop()));
  routers = new Routers();
});

/** The default timeout outlasts every pause of a busy machine: only polls that end empty need a shorter one. */
const poll = async (queues: TaskQueues, { count = 1, timeoutMs = 60_000 } = {}) => {
  const { signal } = new AbortController();
  const tasks = await queues.poll([{ ...queue, count }], { timeoutMs, workerId: 'w', signal });
  return tasks.map(({ taskId }) => taskId);
};
const idOf = (n: number) => taskOf(n).taskId;

describe('a task on a router that no worker polls', () => {
  it('goes to a router that holds a poll, and the router that dispatched it counts it as handed out', async () => {
    const [here, there] = [routers.add(), routers.add()];
    const waiting = poll(there.queues);
    await pollUntil('the other router to announce its poll', () => here.dispatch.isPossible(queue));
    here.dispatch.dispatch(queue, taskOf(1));
    expect(await waiting).toEqual([idOf(1)]);
    expect(routers.handedOut.map(({ taskId }) => taskId)).toEqual([idOf(1)]);
  });

  it('goes to a poll that begins later, at any router', async () => {
    const [here, there] = [routers.add(), routers.add()];
    here.dispatch.dispatch(queue, taskOf(1));
    here.dispatch.dispatch(queue, taskOf(2));
    await pause(10);
    expect(await poll(here.queues)).toEqual([idOf(1)]);
    expect(await poll(there.queues)).toEqual([idOf(2)]);
  });

  it('is not dispatched directly while no worker polls anywhere, or while Redis is unavailable', async () => {
    const here = routers.add();
    expect(here.dispatch.isPossible(queue)).toBe(false);
    routers.isConnected = false;
    const away = routers.add();
    away.dispatch.receive({ polled: queue }, '0');
    expect(away.dispatch.isPossible(queue)).toBe(false);
    const waiting = poll(away.queues, { timeoutMs: 100 });
    expect(away.dispatch.isPossible(queue)).toBe(true);
    // After this poll, the worker's next poll may go to another router, which this router cannot reach.
    await waiting;
    expect(away.dispatch.isPossible(queue)).toBe(false);
  });

  it('that was cancelled goes to no worker', async () => {
    const [here, there] = [routers.add(), routers.add()];
    here.dispatch.dispatch(queue, taskOf(1));
    here.dispatch.cancel(queue, idOf(1));
    expect(await poll(there.queues, { timeoutMs: 50 })).toEqual([]);
  });
});

describe('while tasks wait at a router for its busy workers', () => {
  /** Sends `count` polls to a router, and a new task before each poll. Returns the tasks that the polls got. */
  async function work(router: ReturnType<Routers['add']>, count: number): Promise<string[]> {
    const taken: string[] = [];
    for (let n = 1_000; n < 1_000 + count; n++) {
      router.dispatch.dispatch(queue, taskOf(n));
      taken.push(...(await poll(router.queues)));
      // Lets messages arrive between two polls.
      for (let hop = 0; hop < 4; hop++) await turn();
    }
    return taken;
  }
  const dispatch = ({ dispatch }: ReturnType<Routers['add']>, first: number, count: number) => {
    for (let n = first; n < first + count; n++) dispatch.dispatch(queue, taskOf(n));
  };

  it('its tasks alternate with those of a router without workers', async () => {
    const [here, there] = [routers.add(), routers.add()];
    dispatch(there, 1, 5);
    dispatch(here, 100, 5);
    await turn();
    const ofHere = (await work(there, 12)).map(
      (id) => Number(id.slice(24, 36)) >= 100 && Number(id.slice(24, 36)) < 200,
    );
    expect(ofHere.filter(Boolean)).toHaveLength(5);
    expect(
      ofHere.some((is, index) => is && ofHere[index + 1]),
      'two tasks of the other router in a row',
    ).toBe(false);
    expect(here.dispatch.isPossible(queue)).toBe(true);
  });

  it('a router whose own workers poll keeps its tasks until workers elsewhere are idle', async () => {
    const [here, there] = [routers.add(), routers.add()];
    dispatch(here, 1, 5);
    dispatch(there, 100, 5);
    await poll(here.queues);
    await work(there, 20);
    expect(routers.handedOut).toEqual([]);
    const taken: string[] = [];
    while (taken.length < 9) taken.push(...(await poll(there.queues)));
    expect(taken.slice(5)).toEqual([2, 3, 4, 5].map(idOf));
  });

  it('a reserved poll whose task went to another poll takes a task of another router', async () => {
    const [here, there] = [routers.add(), routers.add()];
    const fetch = Promise.withResolvers<Task[]>();
    there.engine.pollTasks = () => fetch.promise;
    dispatch(there, 1, 1);
    dispatch(here, 100, 2);
    await poll(here.queues);
    const waiting = poll(there.queues);
    expect(await poll(there.queues)).toEqual([idOf(1)]);
    fetch.resolve([]);
    expect(await waiting).toEqual([idOf(101)]);
  });

  it('a poll that is reserved for a fetch asks no other router', async () => {
    const [here, there] = [routers.add(), routers.add()];
    const fetch = Promise.withResolvers<Task[]>();
    there.engine.pollTasks = () => fetch.promise;
    dispatch(there, 1, 1);
    dispatch(here, 100, 20);
    await turn();
    const waiting = poll(there.queues);
    for (let hop = 0; hop < 40; hop++) await turn();
    fetch.resolve([]);
    await waiting;
    expect(routers.handedOut.length).toBeLessThanOrEqual(1);
  });
});

it('a task goes to a poll although a router that has stopped made an earlier offer', async () => {
  const [here, there] = [routers.add(), routers.add()];
  const waiting = poll(there.queues);
  there.dispatch.receive({ offered: queue }, 'gone');
  const asked = performance.now();
  await pollUntil('the offer to count as lost', () => performance.now() - asked > 300);
  here.dispatch.dispatch(queue, taskOf(1));
  expect(await waiting).toEqual([idOf(1)]);
});

it('a task passed to a router that stops is returned', async () => {
  const [here, there] = [routers.add(), routers.add()];
  there.dispatch.receive({ given: [taskOf(1)], of: queue }, '0');
  there.dispatch.stop();
  expect(await poll(here.queues)).toEqual([idOf(1)]);
  // A task that arrives after the stop is returned too.
  there.dispatch.receive({ given: [taskOf(2)], of: queue }, '0');
  expect(await poll(here.queues)).toEqual([idOf(2)]);
});

it('a task that is dispatched by a router that has stopped goes to a router that holds a poll', async () => {
  const [here, there] = [routers.add(), routers.add()];
  const waiting = poll(there.queues);
  here.dispatch.stop();
  here.dispatch.dispatch(queue, taskOf(1));
  expect(await waiting).toEqual([idOf(1)]);
});

it('a task that two stopped routers return is passed back once, and goes to a router that holds a poll', async () => {
  const [here, there] = [routers.add(), routers.add()];
  const others = routers.add();
  there.dispatch.receive({ given: [taskOf(1)], of: queue }, '0');
  here.dispatch.stop();
  there.dispatch.stop();
  for (let turns = 0; turns < 50; turns++) await turn();
  expect(routers.messages.filter((message) => 'given' in message && message.given.length > 0)).toHaveLength(1);
  expect(await poll(others.queues)).toEqual([idOf(1)]);
});

it('under load, with polls and tasks at every router, each task reaches one worker with few messages', async () => {
  const random = randomOfRun();
  const all = [routers.add(), routers.add(), routers.add()];
  const done: string[] = [];
  let open = true;
  const workers = Array.from({ length: 12 }, async () => {
    while (open) {
      done.push(...(await poll(all[random.below(3)]!.queues, { count: 1 + random.below(3), timeoutMs: 30 })));
      await pause(random.between(0, 3));
    }
  });
  const names = Array.from({ length: byDepth(300, 2_000) }, (_, n) => taskOf(n));
  for (const task of names) {
    all[random.below(3)]!.dispatch.dispatch(queue, task);
    if (random.next() < 0.3) await pause(1);
  }
  await pollUntil('every task to be done', () => done.length >= names.length);
  open = false;
  await Promise.all(workers);
  expect(done.toSorted()).toEqual(names.map(({ taskId }) => taskId).toSorted());
  process.stdout.write(`${(routers.messages.length / names.length).toFixed(1)} messages a task\n`);
  expect(routers.messages.length).toBeLessThan(8 * names.length);
});
