// One connection of the public port: its requests are worked on one after the other, in the order they came.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '#lib/problem/problem.ts';
import { failBody } from '../plugin-api/read-body.ts';

/** A request and the place for its answer. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

export interface ConnectionHandlers {
  /** Works on one request; the next one waits until its answer has left. */
  handle(exchange: Exchange): void;
  /** Called once, when every earlier request has its answer: says why nothing more is read, and closes. */
  refuse(socket: Socket, problem: Problem): void;
  /** No request is being worked on any more. */
  becameIdle(socket: Socket): void;
}

/** Requests that may wait behind the one being worked on. */
const maxWaiting = 16;

/**
 * Node emits pipelined requests all at once. A write must not run beside another request (RFC 9112 section 9.3.2),
 * and what follows a refused request must not run at all (section 9.6), so they queue here.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #handlers: ConnectionHandlers;
  #current: Exchange | undefined;
  #waiting: Exchange[] = [];
  /** Set when nothing more is read from this connection, with the reason. */
  #broken: Problem | undefined;

  constructor(socket: Socket, handlers: ConnectionHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
  }

  /** A request has come. */
  take(exchange: Exchange): void {
    if (this.#broken !== undefined) return;
    if (this.#current === undefined) return this.#run(exchange);
    if (this.#waiting.length < maxWaiting) this.#waiting.push(exchange);
    else
      this.#broken = new Problem('too-many-requests', {
        detail: `At most ${maxWaiting} requests may wait on one connection.`,
        headers: { 'retry-after': '1' },
      });
  }

  /**
   * Bytes came that are no request, or too few in time. Requests before them are answered first; one whose body they
   * break off gets the problem as its answer.
   */
  fail(problem: Problem): void {
    if (this.#broken !== undefined) return;
    this.#broken = problem;
    const last = this.#waiting.at(-1) ?? this.#current;
    if (last === undefined) return this.#handlers.refuse(this.#socket, problem);
    if (last.request.complete) return;
    last.response.shouldKeepAlive = false;
    failBody(last.request, problem);
  }

  /** True while a request is being worked on. */
  get busy(): boolean {
    return this.#current !== undefined;
  }

  #run(exchange: Exchange): void {
    this.#current = exchange;
    exchange.response.once('close', () => this.#next());
    this.#handlers.handle(exchange);
  }

  #next(): void {
    this.#current = undefined;
    const over = this.#socket.destroyed || this.#socket.writableEnded;
    const next = over ? undefined : this.#waiting.shift();
    if (next !== undefined) return this.#run(next);
    this.#waiting = [];
    if (over) return;
    if (this.#broken === undefined) this.#handlers.becameIdle(this.#socket);
    else this.#handlers.refuse(this.#socket, this.#broken);
  }
}
