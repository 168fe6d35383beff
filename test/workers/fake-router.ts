// A fake router for workers. It issues tokens, and it holds exchanges until there are tasks.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { type LoopbackServer, listenOnLoopback } from '../../dev/loopback-server.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { encode } from '../plugins/oauth2/forge.ts';
import { pollUntil } from '../stack/poll-until.ts';

/** A received request. */
export interface SeenCall {
  method: string;
  /** Path relative to the base URL of the API. */
  path: string;
  token: string | undefined;
  body: string;
  /** Queues from which an exchange requests tasks. */
  wanted: readonly Wanted[];
  /** Results that an exchange reports. */
  results: readonly TaskResult[];
}

interface Wanted {
  taskType: string;
  domain?: string;
  count: number;
}

interface HeldExchange {
  wanted: readonly Wanted[];
  response: ServerResponse;
}

/** Overrides the response to a request. Returns undefined to keep the default response. */
export type Interference = (call: SeenCall) => { status: number; body?: string } | 'hang' | 'reset' | undefined;

export class FakeRouter {
  readonly calls: SeenCall[] = [];
  readonly results: TaskResult[] = [];
  /** Lifetime of the issued tokens in seconds. */
  tokenLifetimeSeconds = 3_600;
  /** When false, token responses have no `expires_in`: only the `exp` claim of the token states its lifetime. */
  saysLifetime = true;
  interfere: Interference = () => undefined;
  readonly #valid = new Set<string>();
  readonly #tasks = new Map<string, Task[]>();
  readonly #held = new Set<HeldExchange>();
  #server: LoopbackServer | undefined;
  #port = 0;

  /** Base URL, the value of `conductor.apiURL`. */
  get apiURL(): string {
    return `http://127.0.0.1:${this.#port}/conductor/api`;
  }

  /** Number of exchanges that are held now. */
  get held(): number {
    return this.#held.size;
  }

  /** Starts listening. Every start uses the same port. */
  async start(): Promise<this> {
    const server = createServer((request, response) => void this.#handle(request, response));
    this.#port ||= await findFreePort();
    this.#server = await listenOnLoopback(server, { port: this.#port });
    return this;
  }

  /** Closes every connection and stops listening. */
  async stop(): Promise<void> {
    this.#held.clear();
    await this.#server?.close();
    this.#server = undefined;
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
  async result(taskId: string): Promise<TaskResult> {
    const find = () => this.results.find((result) => result.taskId === taskId);
    return pollUntil(`the result of task ${taskId}`, find, { everyMs: 5 });
  }

  /** Revokes every issued token. */
  revokeTokens(): void {
    this.#valid.clear();
  }

  /** Responds to all held exchanges with no tasks, as a draining router does. */
  letGo(): void {
    for (const { response } of this.#held) response.end('{"tasks":[]}');
    this.#held.clear();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://router');
    const path = url.pathname.replace(/^\/conductor\/api/, '');
    const body = await text(request);
    const [first, ...results] = path === '/tasks/exchange' ? body.split('\n').map((line) => JSON.parse(line)) : [];
    const call: SeenCall = {
      method: request.method ?? '',
      path,
      token: request.headers['x-authorization'] as string | undefined,
      body,
      wanted: (first as { wanted: Wanted[] } | undefined)?.wanted ?? [],
      results: results as TaskResult[],
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
    if (call.path !== '/tasks/exchange') return void response.writeHead(404).end('{"status":404}');
    this.results.push(...call.results);
    this.#hold(call, (JSON.parse(call.body.split('\n')[0] as string) as { timeout: number }).timeout, response);
  }

  #issueToken(response: ServerResponse): void {
    const seconds = Math.floor(Date.now() / 1_000);
    const claims = { iat: seconds, exp: seconds + this.tokenLifetimeSeconds, jti: randomUUID() };
    const token = [{ alg: 'none' }, claims, 'x'].map(encode).join('.');
    this.#valid.add(token);
    response.end(JSON.stringify({ token, ...(this.saysLifetime ? { expires_in: this.tokenLifetimeSeconds } : {}) }));
  }

  #hold({ wanted }: SeenCall, timeoutMs: number, response: ServerResponse): void {
    if (wanted.length === 0) return void response.end('{"tasks":[]}');
    const exchange: HeldExchange = { wanted, response };
    this.#held.add(exchange);
    const timer = setTimeout(() => {
      if (this.#held.delete(exchange)) response.end('{"tasks":[]}');
    }, timeoutMs);
    response.on('close', () => {
      clearTimeout(timer);
      this.#held.delete(exchange);
    });
    this.#deliver();
  }

  #deliver(): void {
    for (const exchange of this.#held) {
      const tasks = exchange.wanted.flatMap(({ taskType, domain, count }) => {
        const queue = domain === undefined ? taskType : `${domain}:${taskType}`;
        return this.#tasks.get(queue)?.splice(0, count) ?? [];
      });
      if (tasks.length === 0) continue;
      this.#held.delete(exchange);
      exchange.response.end(JSON.stringify({ tasks }));
    }
  }
}
