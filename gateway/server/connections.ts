// All connections of the public port: how many there may be, which one makes room, and which one takes too long.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { Problem } from '#lib/problem/problem.ts';
import { networkOf } from '../plugin-api/client-address.ts';

/** Read at each use. */
export interface ConnectionLimits {
  /** Connections at once. */
  maxConnections: number;
  /**
   * Connections at once from one address (`networkOf` it), unless it is a trusted proxy's; undefined = no limit of their
   * own.
   */
  maxConnectionsPerAddress?: number | undefined;
  /** How long a client may take to read an answer that is ready, in milliseconds. */
  answerTimeoutMs: number;
}

/** An answer under way. */
interface Answer {
  readonly response: ServerResponse;
  /** Once it is ready: until when it must have been read (milliseconds of `performance.now()`). */
  readBy: number;
}

/** How long a refused client may go on sending before its connection is cut, in milliseconds. */
const lingerMs = 1_000;

/**
 * Counts connections. When there are too many, the one that has waited for its client for longest makes room: for a
 * request, or for the rest of one. Who opens connections and sends little cannot keep others out.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #isTrustedProxy: (address: string) => boolean;
  readonly #all = new Set<Socket>();
  /** Since the last answer, longest ago first; with the request that has begun to arrive, which may be complete. */
  readonly #waiting = new TransientMap<Socket, IncomingMessage | null>();
  readonly #byAddress = new Map<string, number>();
  /** Sockets that were ended, and when to cut them (milliseconds of `performance.now()`). */
  readonly #lingering = new Map<Socket, number>();
  /** Answers under way, by the number of their exchange. */
  readonly #answers = new TransientMap<number, Answer>();
  #exchanges = 0;
  readonly #closed: Counter;
  #timer: NodeJS.Timeout | undefined;

  /** @param isTrustedProxy whether an address is a proxy's, whose connections are those of many clients */
  constructor(limits: ConnectionLimits, metrics: Registry, isTrustedProxy: (address: string) => boolean) {
    this.#limits = limits;
    this.#isTrustedProxy = isTrustedProxy;
    const registers = [metrics];
    this.#closed = new Counter({
      name: 'router_connections_closed_total',
      help: 'Connections that the router closed of its own accord',
      labelNames: ['reason'],
      registers,
    });
    const all = this.#all;
    new Gauge({
      name: 'router_connections',
      help: 'Open connections of the public port',
      registers,
      collect() {
        this.set(all.size);
      },
    });
  }

  /** Begins to look after deadlines. */
  start(): void {
    this.#timer = setInterval(() => this.#sweep(), Math.min(1_000, this.#limits.answerTimeoutMs / 4));
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Cuts what is left. */
  cutAll(): void {
    for (const socket of this.#all) socket.destroy();
  }

  /** Counts a new connection. @returns why it may not stay, or null */
  add(socket: Socket): Problem | null {
    const peer = socket.remoteAddress ?? '';
    const address = networkOf(peer);
    const ofAddress = (this.#byAddress.get(address) ?? 0) + 1;
    this.#all.add(socket);
    this.#byAddress.set(address, ofAddress);
    socket.once('close', () => this.#remove(socket, address));
    const { maxConnectionsPerAddress: most = Number.POSITIVE_INFINITY } = this.#limits;
    if (ofAddress > most && !this.#isTrustedProxy(peer)) return tooMany();
    if (this.#all.size > this.#limits.maxConnections && !this.#makeRoom()) return tooMany();
    this.#waiting.set(socket, null);
    return null;
  }

  /** A request has begun to arrive. Once it is complete the connection stays; its answer has a deadline. */
  busy(socket: Socket, response: ServerResponse): void {
    this.#waiting.set(socket, response.req);
    const exchange = (this.#exchanges += 1);
    this.#answers.set(exchange, { response, readBy: Number.POSITIVE_INFINITY });
    response.once('close', () => this.#answers.delete(exchange));
  }

  /** Answered: it waits for its next request. */
  idle(socket: Socket): void {
    this.#waiting.delete(socket);
    if (!socket.destroyed) this.#waiting.set(socket, null);
  }

  /** Counts a connection that is closed for a reason. */
  count(reason: string): void {
    this.#closed.inc({ reason });
  }

  /** Ends a connection once the client has read what was written last; what it still sends is thrown away. */
  linger(socket: Socket): void {
    this.#waiting.delete(socket);
    socket.end();
    socket.resume();
    this.#lingering.set(socket, performance.now() + lingerMs);
  }

  /** Nothing has been started for a request that has not arrived: closing its connection is safe. */
  #makeRoom(): boolean {
    for (const [socket, request] of this.#waiting) {
      this.#waiting.delete(socket);
      // Worked on, or answered a moment ago.
      if (request?.complete === true) continue;
      this.count('evicted');
      socket.destroy();
      return true;
    }
    return false;
  }

  #remove(socket: Socket, address: string): void {
    this.#all.delete(socket);
    this.#waiting.delete(socket);
    this.#lingering.delete(socket);
    const left = (this.#byAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }

  #sweep(): void {
    const now = performance.now();
    for (const [exchange, answer] of this.#answers) {
      const { response, readBy } = answer;
      if (!response.writableEnded) continue;
      if (readBy === Number.POSITIVE_INFINITY) answer.readBy = now + this.#limits.answerTimeoutMs;
      if (readBy > now) continue;
      this.count('answer-not-read');
      this.#answers.delete(exchange);
      response.destroy();
    }
    for (const [socket, deadline] of this.#lingering) if (deadline <= now) socket.destroy();
  }
}

function tooMany(): Problem {
  return new Problem('too-many-connections', { headers: { 'retry-after': '1' } });
}
