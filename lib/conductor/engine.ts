// A client of the engine's REST API, with keep-alive connections, one deadline per call, and no retries.

import { EngineError } from './engine-error.ts';
import { EngineContact } from './engine-contact.ts';
import { EngineServers, type EngineServersOptions, timerToleranceMs } from './engine-servers.ts';
import {
  executionRequest,
  jsonBody,
  startedId,
  startRequest,
  statusRequest,
  terminateRequest,
  transitionRequest,
} from './executions/requests.ts';
import { expectSuccess, parseResponse } from './read-response.ts';
import type { EngineRequest, EngineResponse } from './send-call.ts';
import type { ExecutionStatus, StartWorkflowRequest, Task, TaskResult } from './types.ts';

export type { EngineRequest, EngineResponse } from './send-call.ts';

/** Options of {@link Engine}. */
export interface EngineOptions {
  /** Base URL without `/api`, e.g. `http://127.0.0.1:8082`, or one for each server of the engine. */
  url: string | readonly string[];
  /** Deadline of one call in milliseconds. */
  timeoutMs: number;
  /** Number of connections kept open to each server. */
  connections: number;
  /** Called when one of several servers is excluded and when it is used again. */
  onServerChange?: EngineServersOptions['onChange'];
  /** First contact with the engine, shared by the clients of one engine. Default: not shared. */
  contact?: EngineContact;
  /** Called at the end of every call, except calls that their caller cancels. */
  observe?: (call: EngineCall) => void;
}

/** A call that has ended, with or without a response. */
export interface EngineCall {
  request: EngineRequest;
  /** Start time (performance.now()), before the wait for a connection. */
  startedAt: number;
  /** Duration in milliseconds. */
  ms: number;
  /** Status of the response, or the kind of the EngineError. */
  outcome: number | 'unreachable' | 'interrupted';
  /** See {@link EngineError}. */
  isStarting?: boolean;
  /**
   * True when the call ended without a response at its own deadline, which was shorter than {@link conclusiveAfterMs}.
   */
  endedEarly?: boolean;
}

/**
 * Returns the time in milliseconds after which a missing response to a start counts as a failure of the engine: half of
 * the general timeout, at most 2 s. A healthy engine starts an execution much faster, even under load. The deadline of
 * a request is often as long as the general timeout or slightly shorter, so a call that reaches such a deadline must
 * count as a failure, not as inconclusive.
 */
export function conclusiveAfterMs(generalTimeoutMs: number): number {
  return Math.min(generalTimeoutMs / 2, 2_000);
}

/** A client of one engine. Every call throws an EngineError on failure. */
export class Engine {
  readonly #servers: EngineServers;
  readonly #timeoutMs: number;
  readonly #observe: EngineOptions['observe'];
  readonly #contact: EngineContact;
  /** Number of calls that have been sent since the creation of this client. */
  calls = 0;

  constructor({ url, timeoutMs, connections, contact, observe, onServerChange }: EngineOptions) {
    this.#timeoutMs = timeoutMs;
    this.#observe = observe;
    this.#contact = contact ?? new EngineContact();
    const urls = typeof url === 'string' ? [url] : url;
    this.#servers = new EngineServers({ urls, timeoutMs, connections, onChange: onServerChange });
  }

  /** Base URLs of the excluded servers, which do not respond while others do. */
  get leftOut(): readonly string[] {
    return this.#servers.leftOut;
  }

  /**
   * Starts a pinned workflow version and returns its execution id.
   * @param withinMs deadline in milliseconds; effective only when it is shorter than the default deadline
   */
  async startWorkflow(request: StartWorkflowRequest, withinMs = this.#timeoutMs): Promise<string> {
    const timeoutMs = Math.min(withinMs, this.#timeoutMs);
    return startedId(await this.#expect({ ...startRequest(request), timeoutMs }));
  }

  /** Returns status and output, but not the reason for a failure: see {@link getExecution}. */
  async getStatus(executionId: string): Promise<ExecutionStatus> {
    return parseResponse(await this.#expect(statusRequest(executionId, { includeOutput: true })));
  }

  /**
   * Returns the execution without its tasks, but with `reasonForIncompletion`, which the shorter response of
   * {@link getStatus} lacks.
   */
  async getExecution(executionId: string, withinMs = this.#timeoutMs): Promise<ExecutionStatus> {
    const timeoutMs = Math.min(withinMs, this.#timeoutMs);
    const request = executionRequest(executionId, { includeTasks: false });
    return parseResponse(await this.#expect({ ...request, timeoutMs }));
  }

  /** Terminates an execution. There is no error when the execution has already ended or the engine does not know it. */
  async terminate(executionId: string, reason: string): Promise<void> {
    const response = await this.request(terminateRequest(executionId, reason));
    if (response.status >= 500 && response.status !== 501) expectSuccess(response, 'terminate');
  }

  /**
   * Pauses an execution. Tasks that a worker is running are not stopped.
   * @returns false when the execution has ended
   */
  async pause(executionId: string): Promise<boolean> {
    const response = await this.request(transitionRequest(executionId, 'pause'));
    if (response.status === 409) return false;
    expectSuccess(response, 'pause');
    return true;
  }

  /** Resumes a paused execution. @throws EngineError when the call fails or the execution is not paused */
  async resume(executionId: string): Promise<void> {
    await this.#expect(transitionRequest(executionId, 'resume'));
  }

  /**
   * Fetches up to `count` due tasks without waiting, because the engine's own long poll sleeps between its attempts.
   */
  async pollTasks(taskType: string, options: { count: number; domain?: string; workerId?: string }): Promise<Task[]> {
    const query = new URLSearchParams({ count: String(options.count), timeout: '0' });
    if (options.domain !== undefined) query.set('domain', options.domain);
    if (options.workerId !== undefined) query.set('workerid', options.workerId);
    return parseResponse(
      await this.#expect({ method: 'GET', path: `/api/tasks/poll/batch/${encodeURIComponent(taskType)}?${query}` }),
    );
  }

  /** Reports a task's result. This is idempotent: the engine ignores updates of tasks that have ended. */
  async updateTask(result: TaskResult): Promise<void> {
    await this.#expect({ method: 'POST', path: '/api/tasks', ...jsonBody(result) });
  }

  /**
   * Sends a request and returns the response, whatever its status.
   * @throws EngineError `unreachable` or `interrupted`
   */
  async request(request: EngineRequest): Promise<EngineResponse> {
    const startedAt = performance.now();
    const { timeoutMs = this.#timeoutMs } = request;
    const report = (outcome: EngineCall['outcome']) => {
      const isStarting = !this.#contact.isMade;
      const ms = performance.now() - startedAt;
      const isEarly = timeoutMs < conclusiveAfterMs(this.#timeoutMs) && ms > timeoutMs - timerToleranceMs;
      const endedEarly = isEarly && typeof outcome === 'string';
      this.#observe?.({ request, startedAt, ms, outcome, isStarting, endedEarly });
    };
    try {
      const response = await this.#send(request);
      this.#contact.made();
      report(response.status);
      return response;
    } catch (error) {
      const { kind, message, cause } = error as EngineError;
      // A call that its caller cancels is not a failure of the engine.
      if (request.signal?.aborted !== true) report(kind as 'unreachable' | 'interrupted');
      throw this.#contact.isMade ? error : new EngineError(kind, message, { cause, isStarting: true });
    }
  }

  /** Closes the connections once the calls in flight have ended. */
  async close(): Promise<void> {
    await this.#servers.close();
  }

  #send(request: EngineRequest): Promise<EngineResponse> {
    this.calls++;
    return this.#servers.send(request);
  }

  async #expect(call: EngineRequest): Promise<EngineResponse> {
    return expectSuccess(await this.request(call), `${call.method} ${call.path.split('?')[0]}`);
  }
}
