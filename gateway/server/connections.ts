// Limits connections to the public port: caps their number in total and per address, evicts idle ones, and closes those
// whose client reads a response too slowly.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { observeGauge } from '#lib/telemetry/observed-gauge.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { Problem } from '#lib/problem/problem.ts';
import { networkOf } from '../plugin-api/client-address.ts';

/** Limits on connections. They are read at each use, so a reload can change them. */
export interface ConnectionLimits {
  /** Maximum number of open connections. */
  maxConnections: number;
  /**
   * Maximum number of open connections per client network ({@link networkOf}); trusted proxies are exempt. Undefined:
   * no limit.
   */
  maxConnectionsPerAddress?: number | undefined;
  /** Time that a client has to read a response once the router has written all of it, in milliseconds. */
  responseTimeoutMs: number;
}

/** A response that has not closed yet. */
interface PendingResponse {
  readonly response: ServerResponse;
  /** Deadline for the client to read the response (performance.now()); Infinity until all of it has been written. */
  readBy: number;
}

/** Time from the rejection of a client until its connection is destroyed, in milliseconds. */
const lingerMs = 1_000;
/** Maximum number of sockets that the router has ended but the clients have not closed yet. */
const maxLingering = 200;

/**
 * Counts connections. At the limit, each new connection evicts an open one: the connection that has waited longest for
 * a request, or for the rest of a request. Thus a client that opens connections and sends little cannot lock out other
 * clients.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #isTrustedProxy: (address: string) => boolean;
  /** Sockets that the router has not ended. */
  readonly #open = new Set<Socket>();
  /**
   * Connections in order of eviction, each with the request that has begun to arrive (and may be complete), or null.
   */
  readonly #waiting = new TransientMap<Socket, IncomingMessage | null>();
  readonly #byAddress = new Map<string, number>();
  /** Ended sockets, each with the time at which it is destroyed (performance.now()). */
  readonly #lingering = new Map<Socket, number>();
  /** Responses by exchange id. */
  readonly #pendingResponses = new TransientMap<number, PendingResponse>();
  #lastExchangeId = 0;
  readonly #closedTotal: Counter;
  #timer: NodeJS.Timeout | undefined;

  /** @param isTrustedProxy whether an address is a trusted proxy, whose connections carry requests from many clients */
  constructor(limits: ConnectionLimits, metrics: Registry, isTrustedProxy: (address: string) => boolean) {
    this.#limits = limits;
    this.#isTrustedProxy = isTrustedProxy;
    this.#closedTotal = new Counter({
      name: 'router_connections_closed_total',
      help: 'Connections closed by the router: evicted to make room, answer-not-read, or the code of a problem',
      labelNames: ['reason'],
      registers: [metrics],
    });
    const help = 'Open connections on the public port';
    observeGauge(metrics, { name: 'router_connections', help }, () => this.#open.size);
  }

  /** Starts the timer that enforces deadlines. */
  start(): void {
    this.#timer = setInterval(() => this.#sweep(), Math.min(1_000, this.#limits.responseTimeoutMs / 4));
    this.#timer.unref();
  }

  /** Stops the timer. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Destroys all connections. */
  cutAll(): void {
    for (const socket of [...this.#open, ...this.#lingering.keys()]) socket.destroy();
  }

  /** Adds a new connection. @returns a problem when a limit is exceeded, else null */
  add(socket: Socket): Problem | null {
    const peer = socket.remoteAddress ?? '';
    const address = networkOf(peer);
    const ofAddress = (this.#byAddress.get(address) ?? 0) + 1;
    this.#open.add(socket);
    this.#byAddress.set(address, ofAddress);
    socket.once('close', () => this.#remove(socket, address));
    const { maxConnectionsPerAddress: most = Number.POSITIVE_INFINITY } = this.#limits;
    if (ofAddress > most && !this.#isTrustedProxy(peer)) return tooMany();
    if (this.#open.size > this.#limits.maxConnections && !this.#evictOne()) return tooMany();
    this.#waiting.set(socket, null);
    return null;
  }

  /** Records that a request has begun to arrive. The connection is not evicted once the request is complete. */
  requestStarted(socket: Socket, response: ServerResponse): void {
    this.#waiting.set(socket, response.req);
    const exchangeId = (this.#lastExchangeId += 1);
    this.#pendingResponses.set(exchangeId, { response, readBy: Number.POSITIVE_INFINITY });
    response.once('close', () => this.#pendingResponses.delete(exchangeId));
  }

  /** Records that a connection is waiting for its next request. */
  requestEnded(socket: Socket): void {
    this.#waiting.delete(socket);
    if (!socket.destroyed) this.#waiting.set(socket, null);
  }

  /** Increments the counter of closed connections. @param reason label value */
  countClosed(reason: string): void {
    this.#closedTotal.inc({ reason });
  }

  /**
   * Ends a connection after its pending writes, and discards what the client still sends. The connection no longer
   * counts towards the limit. When `maxLingering` connections are already lingering, the one that was ended first is
   * destroyed.
   */
  linger(socket: Socket): void {
    this.#open.delete(socket);
    this.#waiting.delete(socket);
    socket.end();
    socket.resume();
    const [oldest] = this.#lingering.keys();
    if (oldest !== undefined && this.#lingering.size >= maxLingering) {
      this.#lingering.delete(oldest);
      oldest.destroy();
    }
    this.#lingering.set(socket, performance.now() + lingerMs);
  }

  /** Destroys the first connection without a complete request. This is safe: no work has been started for it. */
  #evictOne(): boolean {
    for (const [socket, request] of this.#waiting) {
      this.#waiting.delete(socket);
      // The request of this connection is in progress, or its response has just been sent.
      if (request?.complete === true) continue;
      this.countClosed('evicted');
      socket.destroy();
      return true;
    }
    return false;
  }

  #remove(socket: Socket, address: string): void {
    this.#open.delete(socket);
    this.#waiting.delete(socket);
    this.#lingering.delete(socket);
    const left = (this.#byAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }

  #sweep(): void {
    const now = performance.now();
    for (const [exchangeId, pending] of this.#pendingResponses) {
      const { response, readBy } = pending;
      if (!response.writableEnded) continue;
      if (readBy === Number.POSITIVE_INFINITY) pending.readBy = now + this.#limits.responseTimeoutMs;
      if (readBy > now) continue;
      this.countClosed('answer-not-read');
      this.#pendingResponses.delete(exchangeId);
      response.destroy();
    }
    for (const [socket, deadline] of this.#lingering) if (deadline <= now) socket.destroy();
  }
}

function tooMany(): Problem {
  return new Problem('too-many-connections', { headers: { 'retry-after': '1' } });
}
