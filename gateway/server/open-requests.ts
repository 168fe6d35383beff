// Tracks the requests in flight, so that a graceful shutdown can wait for them and mark those that it cuts off.

import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { contextOf } from '../plugin-api/request-context.ts';

/** The responses that have not closed yet. */
export class OpenRequests {
  /** Each open response, with a promise that resolves when the response has closed. */
  readonly #responses = new Map<ServerResponse, Promise<void>>();

  /**
   * Counts a request as in flight until its response has closed. Call it before any policy sees the response: if a
   * listener throws, the listeners that were added after it are not called.
   */
  add(response: ServerResponse): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#responses.set(response, promise);
    response.once('close', () => {
      this.#responses.delete(response);
      resolve();
    });
  }

  /**
   * Waits twice: until the responses that are open now have closed, then until the responses that are open at the end
   * of the first wait have closed. The second wait is for workers: a worker's report completes a client's request, and
   * the response to the report closes after the response to the client. Requests that arrive during the second wait do
   * not prolong it.
   * @param drainMs maximum duration of both waits together, in milliseconds
   */
  async drain(drainMs: number): Promise<void> {
    const deadline = new AbortController();
    const drained = this.closed().then(() => this.closed());
    await Promise.race([drained, pause(drainMs, undefined, deadline).catch(() => undefined)]);
    deadline.abort();
  }

  /**
   * Marks the requests that are still in flight, for the access log. Call it before their connections are destroyed.
   */
  markCutOff(): void {
    const reason = 'shutting-down: the router closed the connection before the response was complete';
    for (const { req } of this.#responses.keys()) Object.assign(contextOf(req), { reason, isCutOff: true });
  }

  /** Waits until the responses that are open now have closed, and so have been logged. */
  async closed(): Promise<void> {
    await Promise.all(this.#responses.values());
  }
}
