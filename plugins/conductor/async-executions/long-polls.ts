// Counts the clients that wait at `/executions`, across configurations.

import { Gauge, type Registry } from 'prom-client';
import { KeyedCounter } from '#lib/gc/keyed-counter.ts';

/** Bounds the number of waiting clients. */
export class LongPolls {
  readonly #waiting = new KeyedCounter();

  constructor(metrics: Registry) {
    const count = () => this.#waiting.total;
    new Gauge({
      name: 'router_long_polls',
      help: 'Clients that wait at /executions',
      registers: [metrics],
      collect() {
        this.set(count());
      },
    });
  }

  /**
   * Returns whether one more request of this client may wait: at max `max` of all clients, and half of that of one
   * client.
   */
  hasCapacity(client: string, max: number): boolean {
    return this.#waiting.total < max && this.#waiting.of(client) < Math.ceil(max / 2);
  }

  /** Counts one waiting client until the promise of `wait` settles. */
  async during<T>(client: string, wait: () => Promise<T>): Promise<T> {
    this.#waiting.add(client, 1);
    try {
      return await wait();
    } finally {
      this.#waiting.add(client, -1);
    }
  }
}
