// A memory budget for large task results. While the budget is used up, further results stay unread in their sockets.

import { getHeapStatistics } from 'node:v8';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';
import { Problem } from '#lib/problem/problem.ts';

/** Results of up to this many bytes do not count towards the budget: even many of them need little memory. */
export const smallResultBytes = 65_536;
/**
 * Share of V8's heap limit that large results may use. A result is converted to text, to JSON and to a response, so
 * each of its bytes needs about three bytes of heap and two bytes outside the heap. V8's heap limit includes the young
 * generation (24 MiB, see launch-settings.ts), which never holds a large result.
 */
const shareOfHeap = 1 / 32;

interface WaitingResult {
  readonly bytes: number;
  readonly client: string;
  readonly admit: () => void;
}

/** A result that needs room in the budget. */
export interface HeldResult {
  readonly bytes: number;
  /** Client id of the worker. */
  readonly client: string;
  /** Aborts when the worker disconnects. */
  readonly gone: AbortSignal;
}

/** Limits of a {@link ResultBudget}. */
export interface ResultBudgetOptions {
  /** Maximum number of bytes held at a time; a larger result is read alone. Default: 1/32 of V8's heap limit. */
  readonly bytes?: number | undefined;
  /** Maximum time that a result waits, in milliseconds. */
  readonly maxWaitMs: number;
}

/**
 * Admits results in order of arrival, so that small results cannot starve a large one. One client gets at most half of
 * the budget, or one result of any size, so that its slow uploads cannot block the results of other clients.
 */
export class ResultBudget {
  readonly #limit: number;
  readonly #maxWaitMs: number;
  readonly #waiting = new Set<WaitingResult>();
  /** Bytes held, by client. */
  readonly #held = new KeyedCounter();

  constructor({ bytes, maxWaitMs }: ResultBudgetOptions) {
    this.#limit = bytes ?? Math.floor(getHeapStatistics().heap_size_limit * shareOfHeap);
    this.#maxWaitMs = maxWaitMs;
  }

  /** Bytes of the admitted results. */
  get held(): number {
    return this.#held.total;
  }

  /** Number of results that wait unread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until the budget has room for `bytes` more.
   * @returns a function that frees the bytes; call it once, when the result is no longer needed
   * @throws Problem `overloaded` after the maximum wait, whereupon the worker repeats its result; `malformed-request`
   *   when the worker has disconnected and gets no response
   */
  async hold({ bytes, client, gone }: HeldResult): Promise<() => void> {
    if (bytes <= smallResultBytes) return () => undefined;
    const share = Math.min(bytes, this.#limit);
    await this.#waitForCapacity({ bytes: share, client }, gone);
    return () => {
      this.#held.add(client, -share);
      this.#admitWaiting();
    };
  }

  #waitForCapacity(result: { bytes: number; client: string }, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(workerGone());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: WaitingResult = { ...result, admit: resolve };
    const fail = (reason: Problem) => {
      this.#waiting.delete(waiting);
      reject(reason);
      // The next result may fit.
      this.#admitWaiting();
    };
    const gone = () => fail(workerGone());
    const timer = setTimeout(() => fail(overloaded()), this.#maxWaitMs);
    signal.addEventListener('abort', gone, { once: true });
    this.#waiting.add(waiting);
    this.#admitWaiting();
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
    });
  }

  #admitWaiting(): void {
    for (const waiting of this.#waiting) {
      const { bytes, client, admit: enter } = waiting;
      // A client over its share waits for its own results and does not block other clients.
      const own = this.#held.of(client);
      if (own > 0 && own + bytes > this.#limit / 2) continue;
      if (this.#held.total + bytes > this.#limit) return;
      this.#waiting.delete(waiting);
      this.#held.add(client, bytes);
      enter();
    }
  }
}

function workerGone(): Problem {
  return new Problem('malformed-request', { detail: 'The worker disconnected before its result was read.' });
}

function overloaded(): Problem {
  // The unread body makes the connection unusable.
  return new Problem('overloaded', {
    detail: 'Too many large results at the same time (router.resultBytes).',
    headers: { 'retry-after': '1', connection: 'close' },
  });
}
