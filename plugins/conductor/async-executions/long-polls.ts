// How many clients wait at `/executions`, whatever configuration they came under.

import { Gauge, type Registry } from 'prom-client';
import { Tally } from '#lib/gc/tally.ts';

export class LongPolls {
  readonly #waiting = new Tally();

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

  /** Whether one more of this client may wait: all have `most` places, one has half of them. */
  hasRoom(client: string, most: number): boolean {
    return this.#waiting.total < most && this.#waiting.of(client) < Math.ceil(most / 2);
  }

  /** Counts one for as long as `wait` lasts. */
  async during<T>(client: string, wait: () => Promise<T>): Promise<T> {
    this.#waiting.add(client, 1);
    try {
      return await wait();
    } finally {
      this.#waiting.add(client, -1);
    }
  }
}
