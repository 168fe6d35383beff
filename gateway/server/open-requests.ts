// The requests in flight, so that a graceful shutdown can wait for them.

import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** Waits for responses that have not closed. */
export class OpenRequests {
  readonly #responses = new Set<ServerResponse>();

  /** Counts a request as in flight until its response has closed. */
  add(response: ServerResponse): void {
    this.#responses.add(response);
    response.once('close', () => this.#responses.delete(response));
  }

  /**
   * Waits twice: until the responses that are open now have closed, then until those that are open at that moment have
   * closed too. A worker's report ends a client's wait, and the response to the report closes after the client's. Later
   * requests do not prolong the wait.
   * @param drainMs longest wait, in milliseconds
   */
  async drain(drainMs: number): Promise<void> {
    const deadline = new AbortController();
    const drained = this.#closed().then(() => this.#closed());
    await Promise.race([drained, pause(drainMs, undefined, deadline).catch(() => undefined)]);
    deadline.abort();
  }

  async #closed(): Promise<void> {
    await Promise.all(
      [...this.#responses].map((response) => new Promise((resolve) => response.once('close', resolve))),
    );
  }
}
