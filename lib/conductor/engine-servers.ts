// A round-robin load balancer with failover for the servers of one engine, which share one database.

import { lookup } from '#lib/http/lookup.ts';
import { oneCallPerConnection, Pool } from '#lib/http/undici.ts';
import { EngineError } from './engine-error.ts';
import { type EngineRequest, type EngineResponse, sendCall } from './send-call.ts';

/** Options of {@link EngineServers}. */
export interface EngineServersOptions {
  /** Base URL of each server, without `/api`. */
  readonly urls: readonly string[];
  /** Default deadline of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** Number of connections kept open to each server. */
  readonly connections: number;
  /** Called when a server is excluded and when it is used again. */
  readonly onChange?: ((url: string, state: 'left out' | 'used') => void) | undefined;
}

interface Server {
  readonly url: string;
  readonly pool: Pool;
  /** Timer of the next health check while the server is excluded. */
  probe: NodeJS.Timeout | undefined;
  isExcluded: boolean;
}

/** Interval between health checks of an excluded server, in milliseconds. */
const probeEveryMs = 500;
const healthTimeoutMs = 1_000;
/**
 * A timer can fire about this long before its deadline, in milliseconds, because the deadline is rounded to
 * milliseconds.
 */
export const timerToleranceMs = 2;

/**
 * Distributes calls over several servers. A server that does not respond to a call is excluded until its health check
 * succeeds. A call that ended at a deadline shorter than the default does not exclude its server. A call that was not
 * sent fails over to the next server. A call that may have arrived is never sent again, because its outcome is unknown.
 * Excluded servers are tried only when no other server is reachable. A single server is never excluded.
 */
export class EngineServers {
  readonly #servers: readonly Server[];
  readonly #timeoutMs: number;
  readonly #onChange: EngineServersOptions['onChange'];
  #next = 0;
  #isClosed = false;

  constructor({ urls, timeoutMs, connections, onChange }: EngineServersOptions) {
    if (urls.length === 0) throw new Error('the engine needs at least one URL');
    // With several servers, a failed attempt to connect must leave a call enough time for the next server.
    const connect = { timeout: urls.length === 1 ? 2_000 : 1_000, lookup };
    const options = { ...oneCallPerConnection, connections, keepAliveTimeout: 20_000, connect };
    this.#servers = urls.map((url) => ({
      url,
      pool: new Pool(url, options),
      probe: undefined,
      isExcluded: false,
    }));
    this.#timeoutMs = timeoutMs;
    this.#onChange = onChange;
  }

  /** Base URLs of excluded servers, which get calls only when no other server is reachable. */
  get leftOut(): readonly string[] {
    return this.#servers.filter(({ isExcluded }) => isExcluded).map(({ url }) => url);
  }

  /**
   * Sends a call to one of the servers and returns the response, whatever its status.
   * @throws EngineError `unreachable` when no server was reachable or no time was left, `interrupted` when a server may
   *   have received the call
   */
  async send(request: EngineRequest): Promise<EngineResponse> {
    const call = { timeoutMs: this.#timeoutMs, ...request };
    const [only, ...others] = this.#servers as [Server, ...Server[]];
    if (others.length === 0) return sendCall(only.pool, call);
    const deadline = performance.now() + call.timeoutMs;
    let failure: unknown = new EngineError(
      'unreachable',
      `${call.method} ${call.path.split('?', 1)[0]}: the deadline passed before the call was sent`,
    );
    for (const server of this.#rotation()) {
      const timeoutMs = Math.round(deadline - performance.now());
      if (timeoutMs <= 0) break;
      try {
        return await sendCall(server.pool, { ...call, timeoutMs });
      } catch (error) {
        // The caller has cancelled the call, which is not a failure of the server.
        if (call.signal?.aborted === true) throw error;
        const isTimeout = deadline - performance.now() < timerToleranceMs;
        if (!isTimeout || call.timeoutMs >= this.#timeoutMs) this.#exclude(server);
        if ((error as EngineError).kind !== 'unreachable') throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Closes the connections once the calls in flight have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { probe } of this.#servers) clearTimeout(probe);
    await Promise.all(this.#servers.map(({ pool }) => pool.close()));
  }

  /** Returns all servers. Each call begins with the next server; excluded servers come last. */
  #rotation(): Server[] {
    const start = this.#next;
    this.#next = (start + 1) % this.#servers.length;
    const rotated = [...this.#servers.slice(start), ...this.#servers.slice(0, start)];
    return [...rotated.filter(({ isExcluded }) => !isExcluded), ...rotated.filter(({ isExcluded }) => isExcluded)];
  }

  #exclude(server: Server): void {
    if (server.isExcluded || this.#isClosed) return;
    server.isExcluded = true;
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
    server.isExcluded = false;
    this.#onChange?.(server.url, 'used');
  }
}
