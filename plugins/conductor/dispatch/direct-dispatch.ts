// Direct dispatch across routers: a read whose router holds no poll for it goes to a router that does.
//
// A router with a waiting task offers its queue to all others. One that holds a poll asks for tasks, and gets them from the
// router that has them, which gives each task to one router only. All messages are volatile: when a task is lost with
// its message, its client gets 504 at the response deadline and can repeat the read.

import { Attachment } from '#lib/gc/attachment.ts';
import { BoundedMap } from '#lib/gc/bounded.ts';
import type { Task } from '#lib/conductor/types.ts';
import { activeWithinMs, queueKey, type QueueName, type TaskQueues } from './task-queues.ts';

/** A message about direct dispatch, from one router to all others or to one. */
export type DispatchMessage =
  /** Workers poll this queue at the sender. */
  | { readonly polled: QueueName }
  /** The sender has tasks of this queue without a worker. */
  | { readonly offered: QueueName }
  /** Workers of the sender take up to `count` tasks of this queue now, or soon. */
  | { readonly wanted: QueueName; readonly count: number }
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
  /** @param router receiver; undefined: all others */
  send(message: DispatchMessage, router?: string): void;
}

/** What {@link DirectDispatch} depends on. */
export interface DirectDispatchOptions {
  queues: TaskQueues;
  peers: DispatchPeers;
  /** Called with a task that another router's worker gets. */
  handedOut: (task: Task) => void;
}

/** What this router knows about one queue at the other routers. */
interface Elsewhere {
  /** Time of the latest message saying that workers poll it elsewhere, by performance.now(). */
  polledAt: number;
  /** Time of this router's own message saying that workers poll it here. */
  announcedAt: number;
  /** Time of this router's latest offer; -Infinity when it has no more tasks to give. */
  offeredAt: number;
  /** Time at which this router last asked for tasks. */
  askedAt: number;
  /** Polls that got tasks of this router since then. */
  servedPolls: number;
  /** Routers that offered tasks, with the time at which they were last asked. */
  readonly offers: Map<string, number>;
}

/** Pause between two messages saying that a queue is polled here (milliseconds). */
const announceMs = activeWithinMs / 6;
/** After this time (milliseconds) an offer is repeated, and a request for tasks counts as lost. */
const lostAfterMs = 250;
/** Maximum number of known queues: workers can poll for any number of task types that do not exist. */
const maxKnown = 1_000;
/** Maximum number of tasks in one message. */
const maxGiven = 16;

/** Marks a router in `offers` that has not been asked since its latest offer or response. */
const notAsked = Number.NEGATIVE_INFINITY;

/** Gives reads to workers without polling the engine, here or through another router. */
export class DirectDispatch {
  readonly #options: DirectDispatchOptions;
  readonly #elsewhere = new BoundedMap<string, Elsewhere>(maxKnown);
  /** The router that gave a task to this one. */
  readonly #givenBy = new Attachment<Task, string>('router that gave a task');
  #isStopping = false;

  constructor(options: DirectDispatchOptions) {
    this.#options = options;
    options.queues.listen((name, waiting) => {
      if (!options.peers.isConnected) return;
      if (waiting === 'task') return this.#offer(name);
      if (this.#isStopping) return;
      this.#announce(name);
      if (waiting === 'poll') this.#ask(name);
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
      this.#ask(message.offered);
    } else if ('wanted' in message) this.#give(message.wanted, Math.min(message.count, maxGiven), from);
    else this.#take(message, from);
  }

  /** Returns tasks of other routers that no worker has taken. Call it when this router holds no more polls. */
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
   * While all workers here are busy, no poll is held, but other routers' reads must not wait until this router's have all
   * been delivered: asks for as many as polls were served here since the last time.
   */
  #askWhileBusy(name: QueueName): void {
    const known = this.#known(name);
    known.servedPolls += 1;
    if (performance.now() - known.askedAt < lostAfterMs) return;
    this.#ask(name, known.servedPolls);
  }

  /**
   * Asks every router with an offer for tasks, if polls are held here. The offer of a router that has not responded is
   * deleted, because that router may have stopped. A router that was only slow offers again.
   */
  #ask(name: QueueName, count = this.#options.queues.queue(name).capacity): void {
    const known = this.#known(name);
    const { offers } = known;
    if (offers.size === 0 || count === 0) return;
    const now = performance.now();
    known.askedAt = now;
    known.servedPolls = 0;
    for (const [router, askedAt] of offers) {
      if (now - askedAt < lostAfterMs) continue;
      if (askedAt > notAsked) offers.delete(router);
      else {
        offers.set(router, now);
        this.#options.peers.send({ wanted: name, count }, router);
      }
    }
  }

  #give(name: QueueName, count: number, router: string): void {
    const given = this.#options.queues.queue(name).takeDispatched(count);
    for (const task of given) this.#options.handedOut(task);
    if (given.length === 0) this.#known(name).offeredAt = Number.NEGATIVE_INFINITY;
    this.#options.peers.send({ given, of: name }, router);
  }

  #take({ given: tasks, of: name, returned }: Extract<DispatchMessage, { given: unknown }>, router: string): void {
    const { offers } = this.#known(name);
    if (tasks.length === 0) offers.delete(router);
    else offers.set(router, notAsked);
    for (const task of tasks) {
      this.#givenBy.set(task, router);
      // Of two routers that stop, one keeps the task and offers it to the others.
      if (this.#isStopping && returned === undefined) this.#return(task, name);
      else this.dispatch(name, task);
    }
    this.#ask(name);
  }

  #known(name: QueueName): Elsewhere {
    const key = queueKey(name);
    const never = Number.NEGATIVE_INFINITY;
    const known = this.#elsewhere.get(key) ?? {
      ...{ polledAt: never, announcedAt: never, offeredAt: never, askedAt: never, servedPolls: 0 },
      offers: new Map<string, number>(),
    };
    this.#elsewhere.set(key, known);
    return known;
  }
}
