// How many bytes of large task results are in this process at a time: what is too much waits unread, in its socket.

import { getHeapStatistics } from 'node:v8';
import { Tally } from '#lib/gc/tally.ts';
import { Problem } from '#lib/problem/problem.ts';

/** Results up to this many bytes are read at once: they are many, and even all of them together are little. */
export const smallResultBytes = 65_536;
/**
 * A result is bytes, then text, then JSON, then an answer: each byte of it takes about three in the heap and two outside of
 * it. The limit that V8 names takes in 192 MiB for young objects, where no large result ever is.
 */
const shareOfHeap = 1 / 32;

interface Waiting {
  readonly bytes: number;
  readonly client: string;
  readonly enter: () => void;
}

/** What a result is held for. */
export interface HeldResult {
  readonly bytes: number;
  /** Whose worker brings it. */
  readonly client: string;
  /** Aborts when the worker has gone. */
  readonly gone: AbortSignal;
}

export interface ResultBudgetOptions {
  /** Bytes at a time; one result that is larger than this is read by itself. Default 1/32 of the heap's limit. */
  readonly bytes?: number | undefined;
  /** How long a result may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

/**
 * First come, first served: a large result is not overtaken for ever by lesser ones. One client has at most half of it, or
 * one result: bodies that come byte by byte keep nobody else's results waiting.
 */
export class ResultBudget {
  readonly #limit: number;
  readonly #maxWaitMs: number;
  readonly #waiting = new Set<Waiting>();
  /** Bytes held, by client. */
  readonly #held = new Tally();

  constructor({ bytes, maxWaitMs }: ResultBudgetOptions) {
    this.#limit = bytes ?? Math.floor(getHeapStatistics().heap_size_limit * shareOfHeap);
    this.#maxWaitMs = maxWaitMs;
  }

  /** Bytes of results that are being worked on. */
  get held(): number {
    return this.#held.total;
  }

  /** Results that wait unread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until `bytes` more may be held.
   * @returns to be called once, when nothing of the result is needed any more
   * @throws Problem `overloaded` when it took too long: the worker repeats its result. `malformed-request` to nobody, when
   *   the worker has gone
   */
  async hold({ bytes, client, gone }: HeldResult): Promise<() => void> {
    if (bytes <= smallResultBytes) return () => undefined;
    const share = Math.min(bytes, this.#limit);
    await this.#turn({ bytes: share, client }, gone);
    return () => {
      this.#held.add(client, -share);
      this.#letIn();
    };
  }

  #turn(result: { bytes: number; client: string }, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(leftEarly());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { ...result, enter: resolve };
    const leave = (reason: Problem) => {
      this.#waiting.delete(waiting);
      reject(reason);
      // Whoever was behind it may fit.
      this.#letIn();
    };
    const gone = () => leave(leftEarly());
    const timer = setTimeout(() => leave(tooMuch()), this.#maxWaitMs);
    signal.addEventListener('abort', gone, { once: true });
    this.#waiting.add(waiting);
    this.#letIn();
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
    });
  }

  #letIn(): void {
    for (const waiting of this.#waiting) {
      const { bytes, client, enter } = waiting;
      // Its own results are in its way, not in that of others.
      const own = this.#held.of(client);
      if (own > 0 && own + bytes > this.#limit / 2) continue;
      if (this.#held.total + bytes > this.#limit) return;
      this.#waiting.delete(waiting);
      this.#held.add(client, bytes);
      enter();
    }
  }
}

function leftEarly(): Problem {
  return new Problem('malformed-request', { detail: 'The worker left before its result was read.' });
}

function tooMuch(): Problem {
  // The body was not read, so the connection cannot be used again.
  return new Problem('overloaded', {
    detail: 'Too many large results at a time (router.resultBytes).',
    headers: { 'retry-after': '1', connection: 'close' },
  });
}
