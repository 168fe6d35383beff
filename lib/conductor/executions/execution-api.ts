// A client of the engine's execution API: search, read, terminate, retry and remove executions.

import { expectSuccess, parseResponse } from '../read-response.ts';
import type { EngineRequest, EngineResponse, SendRequest } from '../send-call.ts';
import type { StartWorkflowRequest, WorkflowStatus } from '../types.ts';
import { EngineIndex } from './engine-index.ts';
import type { WholeExecution } from './execution.ts';
import type { CorrelatedOptions, ExecutionIndex, ExecutionQuery, FoundExecutions, Page } from './execution-index.ts';
import {
  executionRequest,
  jsonBody,
  startedId,
  startRequest,
  statusRequest,
  terminateRequest,
  transitionRequest,
} from './requests.ts';

/** The result of a removal. */
export interface RemovedExecutions {
  readonly removed: readonly string[];
  /** The engine's reason for each refusal, by execution id. */
  readonly refused: Readonly<Record<string, string>>;
}

/** A client of the execution API. Every call throws an EngineError on failure. */
export class ExecutionApi {
  readonly #call: SendRequest;
  readonly #index: () => Promise<ExecutionIndex>;

  /**
   * @param call sends each request: `engine.request`, or the equivalent through the router
   * @param index returns the index to search; called for each search. Default: the engine's index
   */
  constructor(call: SendRequest, index?: () => Promise<ExecutionIndex>) {
    const engineIndex = new EngineIndex(call);
    this.#call = call;
    this.#index = index ?? (async () => engineIndex);
  }

  /** Returns a page of the matching executions from the index. @throws NoExecutionIndex */
  async search(query: ExecutionQuery, page: Page): Promise<FoundExecutions> {
    return (await this.#index()).search(query, page);
  }

  /** Returns the number of matching executions. @throws NoExecutionIndex */
  async count(query: ExecutionQuery): Promise<number> {
    return (await this.#index()).count(query);
  }

  /** Returns the names of the workflows of the matching executions, registered or not. @throws NoExecutionIndex */
  async workflows(query: ExecutionQuery): Promise<string[]> {
    return (await this.#index()).workflows(query);
  }

  /**
   * Returns the state of an execution; null when there is no such execution. The call is cheap: neither input nor
   * output is read.
   */
  async readState(executionId: string): Promise<WorkflowStatus | null> {
    const response = await this.#call(statusRequest(executionId, { includeOutput: false }));
    if (response.status === 404) return null;
    return parseResponse<{ status: WorkflowStatus }>(expectSuccess(response, 'GET /api/workflow/{id}/status')).status;
  }

  /**
   * Returns an execution; null when there is none with this id.
   * @param includeTasks default: true; tasks repeat input and output
   */
  async readWhole(executionId: string, { includeTasks = true } = {}): Promise<WholeExecution | null> {
    const response = await this.#call(executionRequest(executionId, { includeTasks }));
    return response.status === 404 ? null : parseResponse(expectSuccess(response, 'GET /api/workflow/{id}'));
  }

  /**
   * Returns the executions of a workflow with this correlation id, oldest first. The result includes every execution
   * that was started before the call.
   * @throws NoExecutionIndex
   */
  async correlated(name: string, correlationId: string, options: CorrelatedOptions = {}): Promise<WholeExecution[]> {
    return (await this.#index()).correlated(name, correlationId, options);
  }

  /**
   * Records executions that ended without a router noticing. An engine with an index keeps it up to date itself.
   * @param onBatch called after each batch; a result of false stops the call
   */
  async recordEnds(onBatch: () => Promise<boolean>): Promise<void> {
    await (await this.#index()).recordEnds(onBatch);
  }

  /**
   * Corrects the router's record of an execution that has ended in a state other than the recorded one.
   * @returns whether the record was changed; if so, the execution counts as having ended now
   */
  async recordEnd(executionId: string, status: WorkflowStatus): Promise<boolean> {
    return (await this.#index()).recordEnd(executionId, status);
  }

  /** Removes from the router's records the executions that the engine no longer has. */
  async forget(executionIds: readonly string[]): Promise<void> {
    await (await this.#index()).forget(executionIds);
  }

  /** Returns the ids of the running and paused executions of all versions of a workflow. The list needs no index. */
  async running(name: string): Promise<string[]> {
    return parseResponse(
      await this.#send({ method: 'GET', path: `/api/workflow/running/${encodeURIComponent(name)}` }),
    );
  }

  /** Starts a pinned workflow version and returns its execution id. */
  async start(request: StartWorkflowRequest): Promise<string> {
    return startedId(await this.#send(startRequest(request)));
  }

  /**
   * Makes the engine evaluate an execution now instead of at its next sweep: the engine then times out, schedules or
   * completes what is due.
   */
  async decide(executionId: string): Promise<void> {
    await this.#send({ method: 'PUT', path: `/api/workflow/decide/${encodeURIComponent(executionId)}` });
  }

  /** Terminates an execution and cancels its open tasks. */
  async terminate(executionId: string, reason: string): Promise<void> {
    await this.#send(terminateRequest(executionId, reason));
  }

  /**
   * Resumes a terminated or failed execution at its last cancelled or failed task. Completed tasks are not repeated.
   */
  async retry(executionId: string): Promise<void> {
    await this.#send(transitionRequest(executionId, 'retry'));
  }

  /**
   * Deletes executions in any state, with their tasks and index rows. This cannot be undone.
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
    await this.forget(removed);
    return { removed, refused: result.bulkErrorResults ?? {} };
  }

  async #send(request: EngineRequest): Promise<EngineResponse> {
    return expectSuccess(await this.#call(request), `${request.method} ${request.path.split('?')[0]}`);
  }
}
