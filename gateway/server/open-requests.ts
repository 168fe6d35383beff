// The requests in flight, so that a graceful shutdown can wait for them, and mark those that it cuts off.

import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { contextOf } from '../plugin-api/request-context.ts';

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

  /** Marks the requests that are still in flight, for the access log. Call it before their connections are destroyed. */
  markCutOff(): void {
    const reason = 'shutting-down: the router closed the connection before the response was complete';
    for (const { req } of this.#responses) Object.assign(contextOf(req), { reason, isCutOff: true });
  }

  async #closed(): Promise<void> {
    await Promise.all(
      [...this.#responses].map((response) => new Promise((resolve) => response.once('close', resolve))),
    );
  }
}
