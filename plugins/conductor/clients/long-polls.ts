// How many clients wait at `/executions`, whatever configuration they came under.

import { Gauge, type Registry } from 'prom-client';

export class LongPolls {
  readonly #byClient = new Map<string, number>();
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

  /** Whether one more of this client may wait: all have `most` places, one has half of them. */
  hasRoom(client: string, most: number): boolean {
    return this.#count < most && (this.#byClient.get(client) ?? 0) < Math.ceil(most / 2);
  }

  /** Counts one for as long as `wait` lasts. */
  async during<T>(client: string, wait: () => Promise<T>): Promise<T> {
    this.#add(client, 1);
    try {
      return await wait();
    } finally {
      this.#add(client, -1);
    }
  }

  #add(client: string, change: 1 | -1): void {
    this.#count += change;
    const own = (this.#byClient.get(client) ?? 0) + change;
    if (own === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, own);
  }
}
