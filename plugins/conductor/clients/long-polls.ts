// How many clients wait at `/executions`, whatever configuration they came under.

import { Gauge, type Registry } from 'prom-client';

export class LongPolls {
  #count = 0;

  constructor(metrics: Registry) {
    const count = () => this.#count;
    new Gauge({
      name: 'router_long_polls',
      help: 'Clients that wait at /executions',
      registers: [metrics],
      collect() {
        this.set(count());
      },
    });
  }

  get count(): number {
    return this.#count;
  }

  /** Counts one for as long as `wait` lasts. */
  async during<T>(wait: () => Promise<T>): Promise<T> {
    this.#count++;
    try {
      return await wait();
    } finally {
      this.#count--;
    }
  }
}
