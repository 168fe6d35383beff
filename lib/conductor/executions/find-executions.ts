// Finds executions by route, client, workflow, state, start time, correlation id and request id.

import type { WorkflowStatus } from '../types.ts';
import { type Caller, callerOf, mayBeOf } from './caller.ts';
import type { ExecutionSummary } from './execution.ts';
import type { ExecutionApi } from './execution-api.ts';
import type { ExecutionQuery, Order } from './execution-index.ts';
import { hasEnded } from './has-ended.ts';
import { PageReader } from './page-reader.ts';
import { timelineOf } from './timeline.ts';

/** The read-only part of the execution API, which searches use. */
export type ExecutionReader = Pick<ExecutionApi, 'search' | 'readWhole' | 'readState'>;

/** Criteria of a search; all must hold. */
export interface ExecutionFilter {
  /** Exact workflow names; absent for any workflow. */
  readonly workflows?: readonly string[];
  readonly statuses?: readonly WorkflowStatus[];
  readonly route?: string;
  readonly clientId?: string;
  readonly correlationId?: string;
  /**
   * `X-Request-Id` of the response. The index cannot be searched by request id, so every row in the time range is read.
   */
  readonly requestId?: string;
  /** Bounds of the start time, in milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
}

/** One execution of a list. It contains no payload and no header fields. */
export interface ListedExecution extends Caller {
  readonly executionId: string;
  readonly workflow: string;
  readonly version: number;
  readonly state: WorkflowStatus;
  /** Start time (RFC 3339). */
  readonly startedAt: string;
  /** Milliseconds from start to end; absent while the execution is running. */
  readonly durationMs?: number;
  /** Status code of the back end's response. */
  readonly responseStatus?: number;
  /** Description of what a running execution is waiting for. */
  readonly waitsFor?: string;
}

/** Limits of a search. */
export interface SearchBounds {
  /** Maximum number of executions to return. */
  readonly limit: number;
  /** Limit on the number of index rows to read. */
  readonly maxScanned: number;
  /** Number of index rows to skip: `nextOffset` of the previous page. Default: 0. */
  readonly offset?: number;
  /** Order by start time; default: newest first. */
  readonly order?: Extract<Order, 'newest' | 'oldest'>;
}

/** The result of {@link findExecutions}. */
export interface ExecutionList {
  /** The executions in the order of the search. */
  readonly executions: readonly ListedExecution[];
  /** False when the search stopped at the limit of rows to read. */
  readonly isComplete: boolean;
  /** Number of index rows that were read. */
  readonly scanned: number;
  /**
   * Number of executions in the index that match the workflow, the states, the times and the correlation id. In a
   * search of the router's records, this is a lower bound.
   */
  readonly total: number;
  /**
   * Offset of the next page; undefined after the last row. It is only meaningful when the filter contains at most one
   * workflow.
   */
  readonly nextOffset?: number;
}

/** Returns the newest or the oldest executions that match the filter. @throws EngineError */
export async function findExecutions(
  api: ExecutionReader,
  filter: ExecutionFilter,
  bounds: SearchBounds,
): Promise<ExecutionList> {
  const types = filter.workflows ?? [undefined];
  const lists = await Promise.all(types.map((workflowType) => findOfType(api, { filter, workflowType, bounds })));
  const sign = bounds.order === 'oldest' ? -1 : 1;
  const executions = lists
    .flatMap((list) => list.executions)
    .toSorted((one, other) => sign * (Date.parse(other.startedAt) - Date.parse(one.startedAt)))
    .slice(0, bounds.limit);
  const sum = (field: 'scanned' | 'total') => lists.reduce((total, list) => total + list[field], 0);
  const [first] = lists;
  return {
    executions,
    isComplete: lists.every((list) => list.isComplete),
    scanned: sum('scanned'),
    total: sum('total'),
    ...(first?.nextOffset === undefined ? {} : { nextOffset: first.nextOffset }),
  };
}

interface TypeSearch {
  readonly filter: ExecutionFilter;
  readonly workflowType: string | undefined;
  readonly bounds: SearchBounds;
}

async function findOfType(api: ExecutionReader, search: TypeSearch): Promise<ExecutionList> {
  const { limit, maxScanned, offset: from = 0, order = 'newest' } = search.bounds;
  const query = toQuery(search.filter, search.workflowType);
  const executions: ListedExecution[] = [];
  const pages = new PageReader(api, limit);
  for (let scanned = 0; ;) {
    const { rows, isLast, total } = await pages.read(query, { offset: from + scanned, order });
    for (const row of rows) {
      scanned += 1;
      const listed = await toListed(api, row, search);
      if (listed !== null) executions.push(listed);
      if (executions.length < limit) continue;
      const nextOffset = from + scanned;
      return { executions, isComplete: true, scanned, total, ...(nextOffset < total ? { nextOffset } : {}) };
    }
    if (isLast) return { executions, isComplete: true, scanned, total };
    if (scanned >= maxScanned) return { executions, isComplete: false, scanned, total, nextOffset: from + scanned };
  }
}

function toQuery(filter: ExecutionFilter, workflowType: string | undefined): ExecutionQuery {
  const { statuses, since, until, correlationId } = filter;
  return {
    ...(workflowType === undefined ? {} : { workflowType }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(since === undefined ? {} : { startedAfter: since }),
    ...(until === undefined ? {} : { startedBefore: until }),
    ...(correlationId === undefined ? {} : { correlationIds: [correlationId] }),
  };
}

/** Returns the execution of a row, read from the engine; null when the execution does not match the filter. */
async function toListed(
  api: ExecutionReader,
  row: ExecutionSummary,
  { filter, workflowType }: Pick<TypeSearch, 'filter' | 'workflowType'>,
): Promise<ListedExecution | null> {
  if (workflowType !== undefined && row.workflowType !== workflowType) return null;
  if (!mayBeOf(row.input, filter)) return null;
  // Only the tasks show what an open execution is waiting for.
  const execution = await api.readWhole(row.workflowId, { includeTasks: !hasEnded(row) });
  if (execution === null) return null;
  const caller = callerOf(execution.input);
  if (filter.clientId !== undefined && caller.clientId !== filter.clientId) return null;
  if (filter.route !== undefined && caller.route !== filter.route) return null;
  if (filter.requestId !== undefined && caller.requestId !== filter.requestId) return null;
  // The index may lag behind, so the state of the execution itself is decisive.
  if (filter.statuses !== undefined && !filter.statuses.includes(execution.status)) return null;
  const { workflowId: executionId, workflowType: workflow, version, startTime: startedAt } = row;
  const responseStatus = responseStatusOf(execution.output);
  const { waitsFor } = timelineOf(execution, Date.now());
  return {
    executionId,
    workflow,
    version,
    state: execution.status,
    startedAt,
    ...(execution.endTime > 0 ? { durationMs: execution.endTime - execution.startTime } : {}),
    ...(responseStatus === undefined ? {} : { responseStatus }),
    ...(waitsFor === undefined ? {} : { waitsFor }),
    ...caller,
  };
}

/** Returns the status code of the back end's response in a workflow's output; undefined when there is none. */
export function responseStatusOf(output: Readonly<Record<string, unknown>>): number | undefined {
  const status = (output['outbound'] as { statusCodeValue?: unknown } | null | undefined)?.statusCodeValue;
  return typeof status === 'number' ? status : undefined;
}
