// The engine's REST API, as far as the router uses it: keep-alive connections, one deadline a call, no retries.

import { EngineError } from './engine-error.ts';
import { EngineContact } from './engine-contact.ts';
import { EngineServers, type EngineServersOptions } from './engine-servers.ts';
import { expectSuccess, parseResponse } from './read-response.ts';
import type { EngineRequest, EngineResponse } from './send-call.ts';
import type { ExecutionStatus, StartWorkflowRequest, Task, TaskResult } from './types.ts';

export type { EngineRequest, EngineResponse } from './send-call.ts';

export interface EngineOptions {
  /** Base URL without `/api`, e.g. `http://127.0.0.1:8082`, or one for each of its servers. */
  url: string | readonly string[];
  /** Deadline of one call in milliseconds. */
  timeoutMs: number;
  /** Connections kept to each server. */
  connections: number;
  /** Told when one of several servers is left out, and when it is used again. */
  onServerChange?: EngineServersOptions['onChange'];
  /** Whether the engine has answered yet; shared by the clients of one engine. Default: of this one alone. */
  contact?: EngineContact;
  /** Told of every call when it is over. */
  observe?: (call: EngineCall) => void;
}

/** A call that is over. */
export interface EngineCall {
  request: EngineRequest;
  /** When it began (performance.now()); waiting for a connection counts. */
  startedAt: number;
  /** How long it took, in milliseconds. */
  ms: number;
  /** The status of the answer, or the kind of the EngineError. */
  outcome: number | 'unreachable' | 'interrupted';
  /** As {@link EngineError}. */
  isStarting?: boolean;
}

/** An id goes into paths and a header field. */
const executionIdPattern = /^[\w-]{8,64}$/;

/** Client of one engine. @throws EngineError from every call */
export class Engine {
  readonly #servers: EngineServers;
  readonly #timeoutMs: number;
  readonly #observe: EngineOptions['observe'];
  readonly #contact: EngineContact;
  /** Calls made so far. */
  calls = 0;

  constructor({ url, timeoutMs, connections, contact, observe, onServerChange }: EngineOptions) {
    this.#timeoutMs = timeoutMs;
    this.#observe = observe;
    this.#contact = contact ?? new EngineContact();
    const urls = typeof url === 'string' ? [url] : url;
    this.#servers = new EngineServers({ urls, connections, onChange: onServerChange });
  }

  /** Addresses of servers that do not answer while others do. */
  get leftOut(): readonly string[] {
    return this.#servers.leftOut;
  }

  /**
   * Starts a pinned workflow version and returns its execution id.
   * @param withinMs when it is less than the usual deadline
   */
  async startWorkflow(request: StartWorkflowRequest, withinMs = this.#timeoutMs): Promise<string> {
    const timeoutMs = Math.min(withinMs, this.#timeoutMs);
    const response = await this.#expect({ method: 'POST', path: '/api/workflow', ...json(request), timeoutMs });
    const executionId = response.body.toString('utf8');
    if (executionIdPattern.test(executionId)) return executionId;
    throw new EngineError('interrupted', 'the engine answered a start with something other than an execution id');
  }

  /** Status, output and, when it did not complete, the reason. */
  async getStatus(executionId: string): Promise<ExecutionStatus> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}/status?includeOutput=true`;
    return parseResponse(await this.#expect({ method: 'GET', path }));
  }

  /** The whole execution without its tasks: the place where `reasonForIncompletion` is found. */
  async getExecution(executionId: string, timeoutMs = this.#timeoutMs): Promise<ExecutionStatus> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}?includeTasks=false`;
    return parseResponse(await this.#expect({ method: 'GET', path, timeoutMs }));
  }

  /** Whether an execution of this definition with this correlation id was ever started. */
  async hasExecution(name: string, options: { correlationId: string; timeoutMs: number }): Promise<boolean> {
    const names = [name, 'correlated', options.correlationId].map(encodeURIComponent).join('/');
    const path = `/api/workflow/${names}?includeClosed=true&includeTasks=false`;
    const found = parseResponse<unknown>(await this.#expect({ method: 'GET', path, timeoutMs: options.timeoutMs }));
    if (Array.isArray(found)) return found.length > 0;
    throw new EngineError('refused', 'the engine answered with something other than a list');
  }

  /** Terminates an execution. One that has ended already is no error. */
  async terminate(executionId: string, reason: string): Promise<void> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}?reason=${encodeURIComponent(reason)}`;
    const response = await this.request({ method: 'DELETE', path });
    if (response.status >= 500 && response.status !== 501) expectSuccess(response, 'terminate');
  }

  /**
   * Keeps an execution from going on; what a worker has is not stopped.
   * @returns false when it has ended
   */
  async pause(executionId: string): Promise<boolean> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}/pause`;
    const response = await this.request({ method: 'PUT', path });
    if (response.status === 409) return false;
    expectSuccess(response, 'pause');
    return true;
  }

  /** Lets a paused execution go on. One that is not paused is an error. */
  async resume(executionId: string): Promise<void> {
    await this.#expect({ method: 'PUT', path: `/api/workflow/${encodeURIComponent(executionId)}/resume` });
  }

  /** Up to `count` tasks that are due now; never waits inside the engine. */
  async pollTasks(taskType: string, options: { count: number; domain?: string; workerId?: string }): Promise<Task[]> {
    const query = new URLSearchParams({ count: String(options.count), timeout: '0' });
    if (options.domain !== undefined) query.set('domain', options.domain);
    if (options.workerId !== undefined) query.set('workerid', options.workerId);
    return parseResponse(
      await this.#expect({ method: 'GET', path: `/api/tasks/poll/batch/${encodeURIComponent(taskType)}?${query}` }),
    );
  }

  /** Reports a task's result. Idempotent: the engine ignores updates of tasks that have ended. */
  async updateTask(result: TaskResult): Promise<void> {
    await this.#expect({ method: 'POST', path: '/api/tasks', ...json(result) });
  }

  /** Any call, any answer: for paths that are passed through. Only transport failures throw. */
  async request(request: EngineRequest): Promise<EngineResponse> {
    const startedAt = performance.now();
    const over = (outcome: EngineCall['outcome']) => {
      const isStarting = !this.#contact.isMade;
      this.#observe?.({ request, startedAt, ms: performance.now() - startedAt, outcome, isStarting });
    };
    try {
      const response = await this.#send(request);
      this.#contact.made();
      over(response.status);
      return response;
    } catch (error) {
      const { kind, message, cause } = error as EngineError;
      over(kind as 'unreachable' | 'interrupted');
      throw this.#contact.isMade ? error : new EngineError(kind, message, { cause, isStarting: true });
    }
  }

  /** Closes the connections: calls in flight end first. */
  async close(): Promise<void> {
    await this.#servers.close();
  }

  #send(request: EngineRequest): Promise<EngineResponse> {
    this.calls++;
    return this.#servers.send({ timeoutMs: this.#timeoutMs, ...request });
  }

  async #expect(call: EngineRequest): Promise<EngineResponse> {
    return expectSuccess(await this.request(call), `${call.method} ${call.path.split('?')[0]}`);
  }
}

function json(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}
