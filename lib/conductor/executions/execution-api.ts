// A client of the engine's execution API: search, read, terminate, retry and remove executions.

import { expectSuccess, parseResponse } from '../read-response.ts';
import type { EngineRequest, EngineResponse, SendRequest } from '../send-call.ts';
import type { StartWorkflowRequest, WorkflowStatus } from '../types.ts';
import { EngineIndex } from './engine-index.ts';
import type { CorrelatedOptions, ExecutionIndex } from './execution-index.ts';
import {
  executionRequest,
  jsonBody,
  startedId,
  startRequest,
  statusRequest,
  terminateRequest,
  transitionRequest,
} from './requests.ts';

/** A row of the index (`WorkflowSummary`). After a crash of the engine it may lag behind the execution. */
export interface ExecutionSummary {
  readonly workflowId: string;
  readonly workflowType: string;
  readonly version: number;
  readonly correlationId?: string;
  readonly status: WorkflowStatus;
  /** RFC 3339. */
  readonly startTime: string;
  readonly endTime?: string;
  /**
   * The input as Java's `toString` (`{inbound={httpMethod=PATCH, …`) or as JSON, depending on the engine's configuration;
   * the first 64 KiB. `isCut` tells whether it was truncated.
   */
  readonly input: string;
  /** The output in the same form. */
  readonly output: string;
  readonly reasonForIncompletion?: string;
}

/** A task of an execution. Times are milliseconds since 1970, 0 = not yet. */
export interface ExecutedTask {
  readonly taskId: string;
  readonly taskType: string;
  readonly referenceTaskName: string;
  readonly status: string;
  /** Number of the attempt, from 0. */
  readonly retryCount?: number;
  /** True for a failed attempt after which the engine has scheduled another one, or has tried to. */
  readonly retried?: boolean;
  /** Number of polls that returned this attempt. */
  readonly pollCount?: number;
  /** Worker of the last poll. */
  readonly workerId?: string;
  /** Task domain; absent for the default pool. */
  readonly domain?: string;
  /** Delay of a postponed task until its next poll, in seconds. */
  readonly callbackAfterSeconds?: number;
  readonly scheduledTime?: number;
  readonly startTime?: number;
  readonly endTime?: number;
  readonly updateTime?: number;
  /** 0 = none. */
  readonly responseTimeoutSeconds?: number;
  readonly inputData?: Readonly<Record<string, unknown>>;
  readonly outputData?: Readonly<Record<string, unknown>>;
  readonly reasonForIncompletion?: string;
  /** Number of the iteration of a DO_WHILE, from 1; 0 outside of loops. */
  readonly iteration?: number;
  /** Execution that a SUB_WORKFLOW task has started. */
  readonly subWorkflowId?: string;
}

/** An execution with its tasks. Times are milliseconds since 1970, 0 = not yet. */
export interface WholeExecution {
  readonly workflowId: string;
  readonly workflowName: string;
  readonly workflowVersion: number;
  readonly status: WorkflowStatus;
  readonly startTime: number;
  readonly endTime: number;
  readonly correlationId?: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
  readonly reasonForIncompletion?: string;
  readonly taskToDomain?: Readonly<Record<string, string>>;
  readonly tasks: readonly ExecutedTask[];
  /** The definition that the execution was started with, which may differ from the registered one. */
  readonly workflowDefinition?: unknown;
}

/** Criteria of a search; all must hold. */
export interface ExecutionQuery {
  /** A workflow name; a final `*` matches any suffix. */
  readonly workflowType?: string;
  /** Any of these states. */
  readonly statuses?: readonly WorkflowStatus[];
  readonly correlationIds?: readonly string[];
  /** Milliseconds since 1970. SQLite compares whole seconds, so the result may exceed the bounds by up to one second. */
  readonly startedAfter?: number;
  readonly startedBefore?: number;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
}

/** Selects a part of the result. */
export interface Page {
  readonly offset: number;
  readonly size: number;
  /** Default: `oldest`. */
  readonly order?: Order;
}

/** Sort order: `oldest` and `newest` by start time, `first-ended` by end time. */
export type Order = 'oldest' | 'newest' | 'first-ended';

/** A page of executions, with the size of the response. */
export interface FoundExecutions {
  readonly executions: readonly ExecutionSummary[];
  /** Number of executions on all pages; of records at least, since each search would have to read all of them. */
  readonly total: number;
  /** Bytes received. */
  readonly bytes: number;
}

/** The result of a removal. */
export interface RemovedExecutions {
  readonly removed: readonly string[];
  /** The engine's reason by execution id. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Client of the execution API. Every call throws an EngineError on failure. */
export class ExecutionApi {
  readonly #call: SendRequest;
  readonly #index: ExecutionIndex;

  /**
   * @param call sends each request: `engine.request`, or the equivalent through the router
   * @param index finds executions. Default: the engine's index
   */
  constructor(call: SendRequest, index: ExecutionIndex = new EngineIndex(call)) {
    this.#call = call;
    this.#index = index;
  }

  /** Returns a page of the executions that match, from the index. @throws NoExecutionIndex */
  search(query: ExecutionQuery, page: Page): Promise<FoundExecutions> {
    return this.#index.search(query, page);
  }

  /** Returns the number of executions that match. @throws NoExecutionIndex */
  count(query: ExecutionQuery): Promise<number> {
    return this.#index.count(query);
  }

  /** Returns the state; null when there is no such execution. Cheap: neither input nor output is read. */
  async readState(executionId: string): Promise<WorkflowStatus | null> {
    const response = await this.#call(statusRequest(executionId, { includeOutput: false }));
    if (response.status === 404) return null;
    return parseResponse<{ status: WorkflowStatus }>(expectSuccess(response, 'GET /api/workflow/{id}/status')).status;
  }

  /**
   * Returns an execution; null when there is none with this id.
   * @param includeTasks default true; tasks repeat input and output
   */
  async readWhole(executionId: string, { includeTasks = true } = {}): Promise<WholeExecution | null> {
    const response = await this.#call(executionRequest(executionId, { includeTasks }));
    return response.status === 404 ? null : parseResponse(expectSuccess(response, 'GET /api/workflow/{id}'));
  }

  /**
   * Returns the executions of a workflow with this correlation id, oldest first. Every execution that was started before
   * is found.
   * @throws NoExecutionIndex
   */
  correlated(name: string, correlationId: string, options: CorrelatedOptions = {}): Promise<WholeExecution[]> {
    return this.#index.correlated(name, correlationId, options);
  }

  /** Removes executions that the engine no longer has from the router's records. */
  forget(executionIds: readonly string[]): Promise<void> {
    return this.#index.forget(executionIds);
  }

  /** Returns the ids of a workflow's running executions, of every version. The engine keeps this list without an index. */
  async running(name: string): Promise<string[]> {
    return parseResponse(
      await this.#send({ method: 'GET', path: `/api/workflow/running/${encodeURIComponent(name)}` }),
    );
  }

  /** Starts a pinned workflow version and returns its execution id. */
  async start(request: StartWorkflowRequest): Promise<string> {
    return startedId(await this.#send(startRequest(request)));
  }

  /** Makes the engine evaluate an execution now instead of at its next sweep: time out, schedule, complete. */
  async decide(executionId: string): Promise<void> {
    await this.#send({ method: 'PUT', path: `/api/workflow/decide/${encodeURIComponent(executionId)}` });
  }

  /** Terminates an execution and cancels its open tasks. */
  async terminate(executionId: string, reason: string): Promise<void> {
    await this.#send(terminateRequest(executionId, reason));
  }

  /** Resumes a terminated or failed execution at its last cancelled or failed task. Completed tasks are not repeated. */
  async retry(executionId: string): Promise<void> {
    await this.#send(transitionRequest(executionId, 'retry'));
  }

  /**
   * Deletes executions in any state, with their tasks and index rows. It cannot be undone.
   * @param executionIds at most 1,000
   */
  async remove(executionIds: readonly string[]): Promise<RemovedExecutions> {
    const { body } = await this.#send({
      method: 'DELETE',
      path: '/api/workflow/bulk/remove?archiveWorkflow=false',
      ...jsonBody(executionIds),
    });
    const result = parseResponse<{ bulkSuccessfulResults?: string[]; bulkErrorResults?: Record<string, string> }>({
      body,
    });
    const removed = result.bulkSuccessfulResults ?? [];
    await this.#index.forget(removed);
    return { removed, refused: result.bulkErrorResults ?? {} };
  }

  async #send(request: EngineRequest): Promise<EngineResponse> {
    return expectSuccess(await this.#call(request), `${request.method} ${request.path.split('?')[0]}`);
  }
}
