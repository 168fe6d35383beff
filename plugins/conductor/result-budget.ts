// How many bytes of large task results are in this process at a time: what is too much waits unread, in its socket.

import { getHeapStatistics } from 'node:v8';
import { Problem } from '../../problem/problem.ts';

/** Results up to this many bytes are read at once: they are many, and even all of them together are little. */
export const smallResultBytes = 65_536;
/**
 * A result is bytes, then text, then JSON, then an answer: each byte of it takes about three in the heap and two outside of
 * it. The limit that V8 names takes in 192 MiB for young objects, where no large result ever is.
 */
const shareOfHeap = 1 / 32;

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

export interface ResultBudgetOptions {
  /** Bytes at a time; one result that is larger than this is read by itself. Default 1/32 of the heap's limit. */
  readonly bytes?: number | undefined;
  /** How long a result may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

/** First come, first served: a large result is not overtaken for ever by lesser ones. */
export class ResultBudget {
  readonly #limit: number;
  readonly #maxWaitMs: number;
  readonly #waiting = new Set<Waiting>();
  #held = 0;

  constructor({ bytes, maxWaitMs }: ResultBudgetOptions) {
    this.#limit = bytes ?? Math.floor(getHeapStatistics().heap_size_limit * shareOfHeap);
    this.#maxWaitMs = maxWaitMs;
  }

  /** Bytes of results that are being worked on. */
  get held(): number {
    return this.#held;
  }

  /** Results that wait unread. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until `bytes` more may be held.
   * @returns to be called once, when nothing of the result is needed any more
   * @throws Problem `overloaded` when it took too long: the worker repeats its result. `malformed-request` to nobody, when
   *   `signal` aborts
   */
  async hold(bytes: number, signal: AbortSignal): Promise<() => void> {
    if (bytes <= smallResultBytes) return () => undefined;
    const share = Math.min(bytes, this.#limit);
    if (this.#waiting.size > 0 || !this.#fits(share)) await this.#turn(share, signal);
    else this.#held += share;
    return () => {
      this.#held -= share;
      this.#letIn();
    };
  }

  #fits(bytes: number): boolean {
    return this.#held + bytes <= this.#limit;
  }

  #turn(bytes: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(leftEarly());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { bytes, enter: resolve };
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
    return promise.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
    });
  }

  #letIn(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return;
      this.#waiting.delete(waiting);
      this.#held += waiting.bytes;
      waiting.enter();
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
