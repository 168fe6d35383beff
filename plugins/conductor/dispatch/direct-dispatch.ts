// Direct dispatch across routers: when the router of a read holds no poll for the read's queue, the task goes to a
// router that holds such a poll.
//
// A router with a waiting task offers the task's queue to all other routers. A router with workers then asks for tasks.
// The offering router gives each task to only one router. Messages are not stored: when a task is lost with its
// message, its client gets a 504 at the response deadline and can repeat the read.

import { Attachment } from '#lib/gc/attachment.ts';
import { BoundedMap } from '#lib/gc/bounded.ts';
import type { Task } from '#lib/conductor/types.ts';
import { activeWithinMs, queueKey, type QueueName, type TaskQueues } from './task-queues.ts';

/** A message about direct dispatch, from one router to all others or to one. */
export type DispatchMessage =
  /** Workers poll this queue at the sender. */
  | { readonly polled: QueueName }
  /** The sender has tasks of this queue but no worker for them. */
  | { readonly offered: QueueName }
  /**
   * Workers of the sender can take up to `count` tasks of this queue. `busy`: the sender has waiting tasks of its own,
   * and wants another task only if the receiver has no workers.
   */
  | { readonly wanted: QueueName; readonly count: number; readonly busy?: true }
  /**
   * Tasks for the receiver's workers; none when the sender has no more. `returned`: the sender has stopped, and
   * gives back tasks that it got from the receiver.
   */
  | { readonly given: readonly Task[]; readonly of: QueueName; readonly returned?: true };

/** Sends messages to other routers. */
export interface DispatchPeers {
  /** False while messages would be lost. */
  readonly isConnected: boolean;
  /** False for a router without Redis, which is assumed to be the only router. */
  readonly isConfigured: boolean;
  /** @param router the receiver; undefined for all other routers */
  send(message: DispatchMessage, router?: string): void;
}

/** Dependencies of {@link DirectDispatch}. */
export interface DirectDispatchOptions {
  queues: TaskQueues;
  peers: DispatchPeers;
  /** Called with a task that another router gets for its workers. */
  handedOut: (task: Task) => void;
}

/** The state of one queue at the other routers, as far as this router knows it. */
interface Elsewhere {
  /** Time of the latest message saying that workers poll the queue elsewhere; all times here are performance.now(). */
  polledAt: number;
  /** Time of this router's latest message saying that workers poll the queue here. */
  announcedAt: number;
  /** Time of this router's latest offer; -Infinity when it has no more tasks to give. */
  offeredAt: number;
  /** Time at which this router last asked for a task while its own tasks were waiting. */
  busyAskedAt: number;
  /** Id of the last task that this router received. */
  gotTaskId: string | undefined;
  /** Routers that offered tasks, with the time at which they were last asked. */
  readonly offers: Map<string, number>;
}

/** Pause between two messages saying that a queue is polled here (milliseconds). */
const announceMs = activeWithinMs / 6;
/** After this time (milliseconds) an offer is repeated, and a request for tasks counts as lost. */
const lostAfterMs = 250;
/** A router has workers of its own for a queue that was polled within this time (milliseconds). */
const workersPollWithinMs = 5_000;
/** Maximum number of known queues: workers can poll for any number of task types that do not exist. */
const maxKnown = 1_000;
/** Maximum number of tasks in one message. */
const maxGiven = 16;

/** Marks a router in `offers` that has not been asked since its latest offer or response. */
const notAsked = Number.NEGATIVE_INFINITY;

/** Delivers reads to workers, here or through another router, without polling the engine. */
export class DirectDispatch {
  readonly #options: DirectDispatchOptions;
  readonly #elsewhere = new BoundedMap<string, Elsewhere>(maxKnown);
  /** The router from which this router received a task. */
  readonly #givenBy = new Attachment<Task, string>('router that gave a task');
  #isStopping = false;

  constructor(options: DirectDispatchOptions) {
    this.#options = options;
    options.queues.listen((name, waiting) => {
      if (!options.peers.isConnected) return;
      if (waiting === 'task') return this.#offer(name);
      if (this.#isStopping) return;
      this.#announce(name);
      if (waiting === 'poll') this.#ask(name, this.#freeCapacity(name));
      else this.#askWhileBusy(name);
    });
  }

  /** True when workers poll this queue, here or at a router that can be reached. */
  isPossible(name: QueueName): boolean {
    const { queues, peers } = this.#options;
    // While Redis is disconnected, the worker's next poll may go to another router, which the task would not reach.
    if (queues.isActive(name) && (peers.isConnected || !peers.isConfigured)) return true;
    if (!peers.isConnected) return queues.hasHeldPoll(name);
    const polledAt = this.#elsewhere.get(queueKey(name))?.polledAt ?? Number.NEGATIVE_INFINITY;
    return performance.now() - polledAt <= activeWithinMs;
  }

  /** Delivers a task that the engine has scheduled in the direct domain of `name`. */
  dispatch(name: QueueName, task: Task): void {
    this.#options.queues.queue(name).dispatchDirectly(task);
  }

  /** Stops the delivery of a task whose client has left. */
  cancel(name: QueueName, taskId: string): void {
    this.#options.queues.queue(name).cancelDispatch(taskId);
  }

  /** Handles a message from another router. */
  receive(message: DispatchMessage, from: string): void {
    if ('polled' in message) this.#known(message.polled).polledAt = performance.now();
    else if ('offered' in message) {
      this.#known(message.offered).offers.set(from, notAsked);
      this.#ask(message.offered, this.#freeCapacity(message.offered));
    } else if ('wanted' in message) this.#give(message, from);
    else this.#take(message, from);
  }

  /**
   * Sends each task that came from another router back to that router, unless a worker has taken the task. Call this
   * when this router holds no more polls.
   */
  stop(): void {
    this.#isStopping = true;
    for (const [name, queue] of this.#options.queues) {
      for (const task of queue.takeDispatched(Infinity)) this.#return(task, name);
    }
  }

  #return(task: Task, name: QueueName): void {
    const router = this.#givenBy.get(task);
    if (router !== undefined) this.#options.peers.send({ given: [task], of: name, returned: true }, router);
  }

  #announce(name: QueueName): void {
    const known = this.#known(name);
    if (performance.now() - known.announcedAt < announceMs) return;
    known.announcedAt = performance.now();
    this.#options.peers.send({ polled: name });
  }

  #offer(name: QueueName): void {
    const known = this.#known(name);
    if (performance.now() - known.offeredAt < lostAfterMs) return;
    known.offeredAt = performance.now();
    this.#options.peers.send({ offered: name });
  }

  /**
   * Asks for one task while all workers here are busy. In this way, the tasks of a router without workers alternate
   * with those of this router.
   */
  #askWhileBusy(name: QueueName): void {
    const known = this.#known(name);
    if (known.gotTaskId !== undefined) {
      // Once the received task has been delivered, the next poll gets a task of this router.
      if (!this.#options.queues.queue(name).isReady(known.gotTaskId)) known.gotTaskId = undefined;
      return;
    }
    if (known.offers.size === 0 || performance.now() - known.busyAskedAt < lostAfterMs) return;
    known.busyAskedAt = performance.now();
    this.#ask(name, 1, { busy: true });
  }

  /**
   * Requests tasks from every router with an offer. The offer of a router that has not responded is deleted, because
   * that router may have stopped. A router that was only slow repeats its offer.
   */
  #ask(name: QueueName, count: number, kind: { busy?: true } = {}): void {
    const { offers } = this.#known(name);
    if (offers.size === 0 || count === 0) return;
    const now = performance.now();
    for (const [router, askedAt] of offers) {
      if (now - askedAt < lostAfterMs) continue;
      if (askedAt > notAsked) offers.delete(router);
      else {
        offers.set(router, now);
        this.#options.peers.send({ wanted: name, count, ...kind }, router);
      }
    }
  }

  #give({ wanted: name, count, busy }: Extract<DispatchMessage, { wanted: unknown }>, router: string): void {
    const queue = this.#options.queues.queue(name);
    const hasWorkers = performance.now() - queue.lastPolledAt < workersPollWithinMs;
    // The offer is repeated, so that it stays valid for the polls that the other router holds.
    if (busy === true && hasWorkers && queue.readyTasks > 0) return this.#options.peers.send({ offered: name }, router);
    const given = queue.takeDispatched(Math.min(count, maxGiven));
    for (const task of given) this.#options.handedOut(task);
    if (given.length === 0) this.#known(name).offeredAt = Number.NEGATIVE_INFINITY;
    this.#options.peers.send({ given, of: name }, router);
  }

  #take({ given: tasks, of: name, returned }: Extract<DispatchMessage, { given: unknown }>, router: string): void {
    const queue = this.#options.queues.queue(name);
    const known = this.#known(name);
    if (tasks.length === 0) known.offers.delete(router);
    else known.offers.set(router, notAsked);
    for (const task of tasks) this.#givenBy.set(task, router);
    // A stopping router returns new tasks to the router that gave them. If that router is stopping too, it keeps the
    // returned tasks and offers them to the other routers.
    if (this.#isStopping && returned === undefined) for (const task of tasks) this.#return(task, name);
    // These tasks have already waited at the other router, so they are delivered first.
    else if (queue.readyTasks > 0) queue.giveBack(tasks);
    else for (const task of tasks) this.dispatch(name, task);
    if (tasks.length > 0) Object.assign(known, { gotTaskId: tasks.at(-1)?.taskId, busyAskedAt: notAsked });
    this.#ask(name, this.#freeCapacity(name));
  }

  /** Returns how many tasks the polls held here can take from other routers. */
  #freeCapacity(name: QueueName): number {
    const { capacity, readyTasks } = this.#options.queues.queue(name);
    return Math.max(0, capacity - readyTasks);
  }

  #known(name: QueueName): Elsewhere {
    const key = queueKey(name);
    const never = Number.NEGATIVE_INFINITY;
    const known = this.#elsewhere.get(key) ?? {
      ...{ polledAt: never, announcedAt: never, offeredAt: never, busyAskedAt: never, gotTaskId: undefined },
      offers: new Map<string, number>(),
    };
    this.#elsewhere.set(key, known);
    return known;
  }
}
