// The engine's executions as an operator sees them: searched, read whole, ended and resumed, through any way to reach the engine.

import type { EngineRequest, EngineResponse } from '../engine.ts';
import type { EngineCall } from '../metadata/metadata-api.ts';
import { expectSuccess, parseResponse } from '../read-response.ts';
import type { StartWorkflowRequest, WorkflowStatus } from '../types.ts';

/** A row of the engine's index (`WorkflowSummary`). It may lag behind the execution when the engine was killed. */
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
   * Java's own text of the input (`{inbound={httpMethod=PATCH, …`), or JSON, as the engine is configured. Its first 64 KiB: `isCut`
   * tells whether there was more.
   */
  readonly input: string;
  /** As `input`. */
  readonly output: string;
  readonly reasonForIncompletion?: string;
}

/** A task of an execution that was read whole. Times are milliseconds since 1970, 0 = not yet. */
export interface ExecutedTask {
  readonly taskId: string;
  readonly taskType: string;
  readonly referenceTaskName: string;
  readonly status: string;
  /** Number of the attempt, from 0. */
  readonly retryCount?: number;
  /** How often a worker has taken this attempt. */
  readonly pollCount?: number;
  /** Who took it last. */
  readonly workerId?: string;
  /** Absent: the default pool. */
  readonly domain?: string;
  /** How long a task that a worker gave back waits, in seconds. */
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
}

/** What to search for; everything given must hold. */
export interface ExecutionQuery {
  /** `college-adaptorWF`, or with `*` at its end whatever begins so. */
  readonly workflowType?: string;
  readonly status?: WorkflowStatus;
  /** Any of them. */
  readonly statuses?: readonly WorkflowStatus[];
  readonly correlationIds?: readonly string[];
  /** Milliseconds since 1970. SQLite compares whole seconds: up to one second more may be found. */
  readonly startedAfter?: number;
  readonly startedBefore?: number;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
}

/** Which part of the result. */
export interface Page {
  readonly offset: number;
  readonly size: number;
  /** Default `oldest`, by start; `first-ended`: by end. */
  readonly order?: Order;
}

export type Order = 'oldest' | 'newest' | 'first-ended';

const sortOf: Readonly<Record<Order, string>> = {
  oldest: 'startTime:ASC|workflowId:ASC',
  newest: 'startTime:DESC|workflowId:DESC',
  'first-ended': 'endTime:ASC|workflowId:ASC',
};

/** A page of executions and the bytes it took to read. */
export interface FoundExecutions {
  readonly executions: readonly ExecutionSummary[];
  /** How many there are on all pages. */
  readonly total: number;
  readonly bytes: number;
}

/** What became of executions that were to be removed. */
export interface RemovedExecutions {
  readonly removed: readonly string[];
  /** The engine's reason by execution id. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Bytes that are kept of an input or an output in a row: a page of answers of 8 MiB must fit into a small router. */
const longestString = 65_536;

/** @throws EngineError from every call */
export class ExecutionApi {
  readonly #call: EngineCall;

  constructor(call: EngineCall) {
    this.#call = call;
  }

  /**
   * Every row comes with input and output as text, which the engine writes whole and this cuts: ask for small pages where
   * they may be large.
   */
  async search(query: ExecutionQuery, { offset, size, order = 'oldest' }: Page): Promise<FoundExecutions> {
    const parameters = new URLSearchParams({
      query: formatQuery(query),
      sort: sortOf[order],
      start: String(offset),
      size: String(size),
    });
    const { body, received } = await this.#send({
      method: 'GET',
      path: `/api/workflow/search?${parameters}`,
      longestString,
    });
    const { results, totalHits } = parseResponse<{ results: ExecutionSummary[]; totalHits: number }>({ body });
    return { executions: results, total: totalHits, bytes: received ?? body.length };
  }

  /** Only the state; null when the engine has none with this id. Cheap: neither input nor output is read. */
  async readState(executionId: string): Promise<WorkflowStatus | null> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}/status?includeOutput=false`;
    const response = await this.#call({ method: 'GET', path });
    if (response.status === 404) return null;
    return parseResponse<{ status: WorkflowStatus }>(expectSuccess(response, 'GET /api/workflow/{id}/status')).status;
  }

  /**
   * The execution; null when the engine has none with this id.
   * @param includeTasks default true; tasks repeat input and output
   */
  async readWhole(executionId: string, { includeTasks = true } = {}): Promise<WholeExecution | null> {
    const path = `/api/workflow/${encodeURIComponent(executionId)}?includeTasks=${includeTasks}`;
    const response = await this.#call({ method: 'GET', path });
    return response.status === 404 ? null : parseResponse(expectSuccess(response, 'GET /api/workflow/{id}'));
  }

  /**
   * Executions of one definition with this correlation id, oldest first. They are read where the engine keeps them, not
   * from its index: whatever was started before is there.
   * @param includeTasks default false; tasks repeat input and output
   */
  async correlated(name: string, correlationId: string, { includeTasks = false } = {}): Promise<WholeExecution[]> {
    const names = [name, 'correlated', correlationId].map(encodeURIComponent).join('/');
    const path = `/api/workflow/${names}?includeClosed=true&includeTasks=${includeTasks}`;
    const found = parseResponse<WholeExecution[]>(await this.#send({ method: 'GET', path }));
    return found.toSorted((one, other) => one.startTime - other.startTime);
  }

  /** Starts a pinned workflow version and returns its execution id. */
  async start(request: StartWorkflowRequest): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    const call = { method: 'POST', path: '/api/workflow', headers, body: JSON.stringify(request) } as const;
    return (await this.#send(call)).body.toString('utf8');
  }

  /** Lets the engine do at once what it would do at its next look: time out, schedule, complete. */
  async decide(executionId: string): Promise<void> {
    await this.#send({ method: 'PUT', path: `/api/workflow/decide/${encodeURIComponent(executionId)}` });
  }

  /** Ends it. Its open tasks are cancelled. */
  async terminate(executionId: string, reason: string): Promise<void> {
    const query = new URLSearchParams({ reason });
    await this.#send({ method: 'DELETE', path: `/api/workflow/${encodeURIComponent(executionId)}?${query}` });
  }

  /** Resumes a terminated or failed execution at its last cancelled or failed task; what was completed stays. */
  async retry(executionId: string): Promise<void> {
    await this.#send({ method: 'POST', path: `/api/workflow/${encodeURIComponent(executionId)}/retry` });
  }

  /**
   * Deletes executions, their tasks and their rows in the index, whatever their state: it cannot be undone.
   * @param executionIds at most 1000
   */
  async remove(executionIds: readonly string[]): Promise<RemovedExecutions> {
    const { body } = await this.#send({
      method: 'DELETE',
      path: '/api/workflow/bulk/remove?archiveWorkflow=false',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(executionIds),
    });
    const answer = parseResponse<{ bulkSuccessfulResults?: string[]; bulkErrorResults?: Record<string, string> }>({
      body,
    });
    return { removed: answer.bulkSuccessfulResults ?? [], refused: answer.bulkErrorResults ?? {} };
  }

  async #send(request: EngineRequest): Promise<EngineResponse> {
    return expectSuccess(await this.#call(request), `${request.method} ${request.path.split('?')[0]}`);
  }
}

/**
 * The query in the engine's words. A type is always asked for with `*`: for an exact one SQLite would walk all of that
 * type's rows, for a pattern it takes the index on the start time or the correlation id.
 */
function formatQuery(query: ExecutionQuery): string {
  const { workflowType, status, statuses, correlationIds, startedAfter, startedBefore, endedAfter, endedBefore } =
    query;
  return [
    workflowType === undefined ? '' : `workflowType = ${workflowType.replace(/\*?$/, '*')}`,
    status === undefined ? '' : `status = ${status}`,
    statuses === undefined ? '' : `status IN (${statuses.join(',')})`,
    correlationIds === undefined ? '' : `correlationId IN (${correlationIds.join(',')})`,
    startedAfter === undefined ? '' : `startTime > ${startedAfter}`,
    startedBefore === undefined ? '' : `startTime < ${startedBefore}`,
    endedAfter === undefined ? '' : `endTime > ${endedAfter}`,
    endedBefore === undefined ? '' : `endTime < ${endedBefore}`,
  ]
    .filter((condition) => condition !== '')
    .join(' AND ');
}
