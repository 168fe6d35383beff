// A fake router for workers: a token endpoint, held polls, and task updates.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { pollUntil } from '../stack/poll-until.ts';

/** A received request. */
export interface SeenCall {
  method: string;
  /** Path below the API's base. */
  path: string;
  query: URLSearchParams;
  token: string | undefined;
  body: string;
}

interface HeldPoll {
  queue: string;
  count: number;
  response: ServerResponse;
}

/** Overrides a response; undefined: the default response. */
export type Interference = (call: SeenCall) => { status: number; body?: string } | 'hang' | 'reset' | undefined;

export class FakeRouter {
  readonly calls: SeenCall[] = [];
  readonly results: TaskResult[] = [];
  /** Lifetime of the issued tokens in seconds. */
  tokenLifetimeSeconds = 3_600;
  /** False: the response has no `expires_in`, and the token is a JWT with an `exp` claim. */
  saysLifetime = true;
  interfere: Interference = () => undefined;
  readonly #valid = new Set<string>();
  readonly #tasks = new Map<string, Task[]>();
  readonly #held = new Set<HeldPoll>();
  #server: Server | undefined;
  #port = 0;

  /** Base URL, the value of `conductor.apiURL`. */
  get apiURL(): string {
    return `http://127.0.0.1:${this.#port}/conductor/api`;
  }

  /** Currently held polls. */
  get held(): number {
    return this.#held.size;
  }

  /** Starts listening; after an outage on the same port. */
  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#handle(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  /** Closes every connection and stops listening. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#held.clear();
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** Queues a task and returns its id. */
  addTask(taskType: string, inputData: Record<string, unknown>, more: Partial<Task> = {}): string {
    const taskId = randomUUID();
    const queue = more.domain === undefined ? taskType : `${more.domain}:${taskType}`;
    const task: Task = {
      taskId,
      taskType,
      taskDefName: taskType,
      referenceTaskName: taskType,
      workflowInstanceId: randomUUID(),
      responseTimeoutSeconds: 60,
      inputData,
      ...more,
    };
    this.#tasks.set(queue, [...(this.#tasks.get(queue) ?? []), task]);
    this.#deliver();
    return task.taskId;
  }

  /** Resolves with the result of a task when it is reported. */
  async result(taskId: string, timeoutMs = 5_000): Promise<TaskResult> {
    const find = () => this.results.find((result) => result.taskId === taskId);
    return pollUntil(`the result of task ${taskId}`, find, { timeoutMs, everyMs: 5 });
  }

  /** Revokes every issued token. */
  revokeTokens(): void {
    this.#valid.clear();
  }

  /** Responds to held polls without tasks, like a router that drains. */
  letGo(): void {
    for (const poll of this.#held) poll.response.end('[]');
    this.#held.clear();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://router');
    const call: SeenCall = {
      method: request.method ?? '',
      path: url.pathname.replace(/^\/conductor\/api/, ''),
      query: url.searchParams,
      token: request.headers['x-authorization'] as string | undefined,
      body: Buffer.concat(await request.toArray()).toString('utf8'),
    };
    this.calls.push(call);
    const other = this.interfere(call);
    if (other === 'reset') request.socket.resetAndDestroy();
    else if (other !== 'hang') {
      response.setHeader('content-type', 'application/json');
      if (other !== undefined) response.writeHead(other.status).end(other.body ?? '');
      else this.#answer(call, response);
    }
  }

  #answer(call: SeenCall, response: ServerResponse): void {
    if (call.path === '/token') return this.#issueToken(response);
    if (call.token === undefined || !this.#valid.has(call.token)) {
      response.writeHead(401).end('{"status":401,"title":"The access token is not valid"}');
      return;
    }
    const taskType = /^\/tasks\/poll\/batch\/(.+)$/.exec(call.path)?.[1];
    if (taskType !== undefined) this.#park(taskType, call.query, response);
    else if (call.method === 'POST' && call.path === '/tasks') {
      const result = JSON.parse(call.body) as TaskResult;
      this.results.push(result);
      response.setHeader('content-type', 'text/plain');
      response.end(result.taskId);
    } else response.writeHead(404).end('{"status":404}');
  }

  #issueToken(response: ServerResponse): void {
    const seconds = Math.floor(Date.now() / 1_000);
    const claims = { iat: seconds, exp: seconds + this.tokenLifetimeSeconds, jti: randomUUID() };
    const token = ['{"alg":"none"}', JSON.stringify(claims), 'x'].map((part) =>
      Buffer.from(part).toString('base64url'),
    );
    const text = token.join('.');
    this.#valid.add(text);
    response.end(
      JSON.stringify({ token: text, ...(this.saysLifetime ? { expires_in: this.tokenLifetimeSeconds } : {}) }),
    );
  }

  #park(taskType: string, query: URLSearchParams, response: ServerResponse): void {
    const domain = query.get('domain');
    const poll: HeldPoll = {
      queue: domain === null ? taskType : `${domain}:${taskType}`,
      count: Number(query.get('count')),
      response,
    };
    this.#held.add(poll);
    const timer = setTimeout(
      () => {
        if (this.#held.delete(poll)) response.end('[]');
      },
      Number(query.get('timeout')),
    );
    response.on('close', () => {
      clearTimeout(timer);
      this.#held.delete(poll);
    });
    this.#deliver();
  }

  #deliver(): void {
    for (const poll of this.#held) {
      const tasks = this.#tasks.get(poll.queue)?.splice(0, poll.count) ?? [];
      if (tasks.length === 0) continue;
      this.#held.delete(poll);
      poll.response.end(JSON.stringify(tasks));
    }
  }
}
