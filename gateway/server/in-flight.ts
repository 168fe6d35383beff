// The requests that a drain waits for: those that had come before it.

import type { ServerResponse } from 'node:http';

export class InFlight {
  #count = 0;
  #isDraining = false;
  #settled: () => void = () => undefined;

  /** A request has come. Once the drain has begun nobody waits for it. */
  add(response: ServerResponse): void {
    if (this.#isDraining) return;
    this.#count += 1;
    response.once('close', () => {
      this.#count -= 1;
      if (this.#count === 0) this.#settled();
    });
  }

  /** Resolves when all of them are answered, or after `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#count === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const deadline = setTimeout(resolve, drainMs);
    this.#settled = resolve;
    await promise;
    clearTimeout(deadline);
  }
}
