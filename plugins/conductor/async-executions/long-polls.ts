// Counts the requests to `/executions` that wait for an execution to end. All configurations of the router share the
// count.

import type { Registry } from 'prom-client';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';

/** Bounds the number of waiting requests. */
export class LongPolls {
  readonly #waiting = new KeyedCounter();

  constructor(metrics: Registry) {
    const help = 'Requests for the status or response of an execution, held until the execution ends';
    observeGauge(metrics, { name: 'router_long_polls', help }, () => this.#waiting.total);
  }

  /**
   * Returns whether one more request from this client may wait. All clients together may have at most `max` waiting
   * requests; one client may have at most half of `max`, rounded up.
   */
  hasCapacity(client: string, max: number): boolean {
    return this.#waiting.total < max && this.#waiting.of(client) < Math.ceil(max / 2);
  }

  /** Counts one waiting request of the client until the promise from `wait` settles. */
  async during<T>(client: string, wait: () => Promise<T>): Promise<T> {
    this.#waiting.add(client, 1);
    try {
      return await wait();
    } finally {
      this.#waiting.add(client, -1);
    }
  }
}
