// The servers of one engine: several processes on one database. Calls go to each in turn, and past the one that fails.

import { Pool } from 'undici';
import type { EngineError } from './engine-error.ts';
import { type EngineRequest, type EngineResponse, sendCall } from './send-call.ts';

export interface EngineServersOptions {
  /** Base URL of each, without `/api`; all of them have the same database. */
  readonly urls: readonly string[];
  /** Connections kept to each. */
  readonly connections: number;
  /** Told when one is left out, and when it is used again. */
  readonly onChange?: ((url: string, state: 'left out' | 'used') => void) | undefined;
}

interface Server {
  readonly url: string;
  readonly pool: Pool;
  /** Set while it is left out: the next look at its health. */
  probe: NodeJS.Timeout | undefined;
  isLeftOut: boolean;
}

/** Pause between two looks at the health of a server that is left out, in milliseconds. */
const probeEveryMs = 500;
const healthTimeoutMs = 1_000;

/**
 * A server that did not answer a call is left out until its health answers. A call that never left for it goes to the
 * next one; a call that may have arrived is never sent again, because nobody knows what came of it. When all are left
 * out, all are tried. With one server nothing of this happens.
 */
export class EngineServers {
  readonly #servers: readonly Server[];
  readonly #onChange: EngineServersOptions['onChange'];
  #next = 0;
  #isClosed = false;

  constructor({ urls, connections, onChange }: EngineServersOptions) {
    if (urls.length === 0) throw new Error('an engine has at least one address');
    const options = { connections, pipelining: 1, keepAliveTimeout: 20_000, connect: { timeout: 2_000 } };
    this.#servers = urls.map((url) => ({
      url,
      pool: new Pool(url, options),
      probe: undefined,
      isLeftOut: false,
    }));
    this.#onChange = onChange;
  }

  /** Addresses that get no calls until their health answers. */
  get leftOut(): readonly string[] {
    return this.#servers.filter(({ isLeftOut }) => isLeftOut).map(({ url }) => url);
  }

  /**
   * Sends a call to one of them and reads the answer, whatever its status.
   * @throws EngineError `unreachable` when none could be reached, `interrupted` when one may have got it
   */
  async send(call: EngineRequest & { timeoutMs: number }): Promise<EngineResponse> {
    const [only, ...others] = this.#servers as [Server, ...Server[]];
    if (others.length === 0) return sendCall(only.pool, call);
    const deadline = performance.now() + call.timeoutMs;
    let failure: unknown;
    for (const server of this.#inTurn()) {
      const timeoutMs = Math.round(deadline - performance.now());
      if (timeoutMs <= 0) break;
      try {
        return await sendCall(server.pool, { ...call, timeoutMs });
      } catch (error) {
        // Its caller has gone: that says nothing of the server.
        if (call.signal?.aborted === true) throw error;
        this.#leaveOut(server);
        if ((error as EngineError).kind !== 'unreachable') throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Calls in flight end first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { probe } of this.#servers) clearTimeout(probe);
    await Promise.all(this.#servers.map(({ pool }) => pool.close()));
  }

  /** All of them, beginning with another one each time; those that are left out come last. */
  #inTurn(): Server[] {
    const start = this.#next;
    this.#next = (start + 1) % this.#servers.length;
    const rotated = [...this.#servers.slice(start), ...this.#servers.slice(0, start)];
    return [...rotated.filter(({ isLeftOut }) => !isLeftOut), ...rotated.filter(({ isLeftOut }) => isLeftOut)];
  }

  #leaveOut(server: Server): void {
    if (server.isLeftOut || this.#isClosed) return;
    server.isLeftOut = true;
    this.#onChange?.(server.url, 'left out');
    void this.#probe(server);
  }

  async #probe(server: Server): Promise<void> {
    const isHealthy = await sendCall(server.pool, { method: 'GET', path: '/health', timeoutMs: healthTimeoutMs }).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (this.#isClosed) return;
    if (!isHealthy) {
      server.probe = setTimeout(() => void this.#probe(server), probeEveryMs);
      return;
    }
    server.isLeftOut = false;
    this.#onChange?.(server.url, 'used');
  }
}
