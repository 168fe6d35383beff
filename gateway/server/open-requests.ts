// A counter of the requests in flight, so that a graceful shutdown can wait for them.

import type { ServerResponse } from 'node:http';

/** Counts the requests that arrived before the shutdown began. */
export class OpenRequests {
  #count = 0;
  #isDraining = false;
  #onIdle: () => void = () => undefined;

  /** Counts a request until its response has closed. Requests that arrive during the drain are not counted. */
  add(response: ServerResponse): void {
    if (this.#isDraining) return;
    this.#count += 1;
    response.once('close', () => {
      this.#count -= 1;
      if (this.#count === 0) this.#onIdle();
    });
  }

  /** Resolves when all counted responses have closed, at the latest after `drainMs` milliseconds. */
  async drain(drainMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#count === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const deadline = setTimeout(resolve, drainMs);
    this.#onIdle = resolve;
    await promise;
    clearTimeout(deadline);
  }
}
