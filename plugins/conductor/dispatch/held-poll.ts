// Held long polls: a worker waits in one or several queues until one of them has tasks.

import type { Task } from '#lib/conductor/types.ts';

/** A worker's long poll. */
export interface Poll {
  workerId: string | undefined;
  /** Longest time to hold the poll, in milliseconds. */
  timeoutMs: number;
  /**
   * Longest time to hold the poll after its timeout while a fetch is in flight, in milliseconds. Without this time, a
   * worker with short polls would always be gone when the engine returned its task.
   */
  fetchMs?: number;
  /** Aborts when the worker disconnects. */
  signal: AbortSignal;
}

/** The methods of a queue that {@link holdPoll} uses. */
export interface PolledQueue {
  /** Delivers ready tasks to a poll; holds the poll when there are none. Every `hold` is followed by one `drop`. */
  hold(poll: HeldPoll): void;
  /** Resolves when no fetch in flight can bring tasks for the held poll. Never rejects. */
  afterFetches(poll: HeldPoll): Promise<void>;
  /** Ends a poll. The queue must not deliver tasks to the poll afterwards. */
  drop(poll: HeldPoll): void;
}

/** A queue in which a poll is held, and the maximum number of tasks (at least 1) that the poll takes from it. */
export interface Wanted {
  readonly queue: PolledQueue;
  readonly count: number;
}

/** A held poll in one of its queues. */
export interface HeldPoll {
  readonly workerId: string | undefined;
  /** Longest time to hold the poll, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of tasks that the poll still takes from this queue. */
  left: number;
  /** Tasks that the poll has received from all of its queues. */
  readonly taken: Task[];
  release(): void;
}

/** Default of `fetchMs`. */
const defaultFetchMs = 5_000;

/**
 * Holds a poll in one or several queues. Resolves to tasks as soon as there are some. Resolves to an empty list once
 * the timeout has passed and no fetch is in flight, or when the worker disconnects.
 */
export async function holdPoll(wanted: readonly Wanted[], poll: Poll): Promise<Task[]> {
  const { workerId, timeoutMs, fetchMs = defaultFetchMs, signal } = poll;
  if (signal.aborted) return [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const taken: Task[] = [];
  const held = wanted.map(({ queue, count }) => {
    const each = { workerId, timeoutMs, left: count, taken, release: resolve };
    queue.hold(each);
    return each;
  });
  if (taken.length === 0) {
    let timer = setTimeout(() => {
      timer = setTimeout(resolve, fetchMs);
      const fetches = wanted.map(({ queue }, index) => queue.afterFetches(held[index] as HeldPoll));
      void Promise.all(fetches).then(() => resolve());
    }, timeoutMs);
    signal.addEventListener('abort', resolve as () => void, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', resolve as () => void);
  }
  for (const [index, { queue }] of wanted.entries()) queue.drop(held[index] as HeldPoll);
  return taken;
}

/** Of the polls that still take tasks, returns the first poll of each worker and all polls without a worker id. */
export function firstOfEachWorker(polls: readonly HeldPoll[]): HeldPoll[] {
  const seen = new Set<string>();
  return polls.filter(({ workerId, left }) => {
    if (left === 0 || (workerId !== undefined && seen.has(workerId))) return false;
    if (workerId !== undefined) seen.add(workerId);
    return true;
  });
}
