// One connection of the public port: processes its pipelined requests one at a time, in order.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '#lib/problem/problem.ts';
import { failBody } from '../plugin-api/read-body.ts';

/** A request and its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Callbacks of a {@link Connection}. */
export interface ConnectionHandlers {
  /** Processes one request. The next request waits until its response has closed. */
  handle(exchange: Exchange): void;
  /** Called at most once, after all earlier responses: sends the problem and closes the connection. */
  refuse(socket: Socket, problem: Problem): void;
  /**
   * Closes the connection without a further response, because the client keeps sending requests. May be called again.
   */
  cut(socket: Socket, problem: Problem): void;
  /** Called when no request is in progress or queued. */
  onIdle(socket: Socket): void;
}

/** Maximum number of pipelined requests queued behind the request in progress. */
const maxQueued = 16;
/** Maximum number of requests that may arrive after the last one that gets a response. */
const maxIgnored = 8;

/**
 * A queue of the pipelined requests of one connection. Node emits such requests all at once. However, a request with an
 * unsafe method must not run concurrently with another request (RFC 9112 section 9.3.2), and requests after a rejected
 * one must not run at all (section 9.6).
 */
export class Connection {
  readonly #socket: Socket;
  readonly #handlers: ConnectionHandlers;
  #current: Exchange | undefined;
  #queue: Exchange[] = [];
  /** Why no more requests are read from this connection; undefined while requests are read. */
  #failure: Problem | undefined;
  /** Number of requests that have arrived since the failure. */
  #ignored = 0;
  /** True when Node has parsed the whole chunk that contains the first request beyond `maxIgnored`. */
  #isChunkParsed = false;

  constructor(socket: Socket, handlers: ConnectionHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
  }

  /** Processes a request, or queues it behind the request in progress. */
  enqueue(exchange: Exchange): void {
    if (this.#failure !== undefined) return this.#ignore(this.#failure);
    if (this.#current === undefined) return this.#run(exchange);
    if (this.#queue.length < maxQueued) this.#queue.push(exchange);
    else
      this.#failure = new Problem('too-many-requests', {
        detail: `At most ${maxQueued} requests may wait on one connection.`,
        headers: { 'retry-after': '1' },
      });
  }

  /**
   * Stops reading after malformed bytes or a timeout. Earlier requests get their responses first; a request whose body
   * is incomplete gets the problem as its response.
   */
  fail(problem: Problem): void {
    if (this.#failure !== undefined) return;
    this.#failure = problem;
    const last = this.#queue.at(-1) ?? this.#current;
    if (last === undefined) return this.#handlers.refuse(this.#socket, problem);
    if (last.request.complete) return;
    last.response.shouldKeepAlive = false;
    failBody(last.request, problem);
  }

  /** True while a request is in progress. */
  get busy(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Counts a request that gets no response, and cuts the connection after too many of them: Node keeps such requests in
   * memory until the connection closes. Node parses a whole chunk at once and cannot be stopped, so further requests of
   * the same chunk do not cut the connection a second time.
   */
  #ignore(failure: Problem): void {
    this.#ignored += 1;
    if (this.#ignored <= maxIgnored || this.#socket.destroyed) return;
    if (this.#ignored === maxIgnored + 1) process.nextTick(() => (this.#isChunkParsed = true));
    else if (!this.#isChunkParsed) return;
    this.#handlers.cut(this.#socket, failure);
  }

  #run(exchange: Exchange): void {
    this.#current = exchange;
    exchange.response.once('close', () => this.#runNext());
    this.#handlers.handle(exchange);
  }

  #runNext(): void {
    this.#current = undefined;
    const isClosed = this.#socket.destroyed || this.#socket.writableEnded;
    const next = isClosed ? undefined : this.#queue.shift();
    if (next !== undefined) return this.#run(next);
    this.#queue = [];
    if (isClosed) return;
    if (this.#failure === undefined) this.#handlers.onIdle(this.#socket);
    else this.#handlers.refuse(this.#socket, this.#failure);
  }
}
