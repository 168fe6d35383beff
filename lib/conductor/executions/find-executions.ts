// Finds executions by route, client, workflow, state and start time.

import type { WorkflowStatus } from '../types.ts';
import { type Caller, callerOf, mayBeOf } from './caller.ts';
import type { ExecutionApi, ExecutionQuery, ExecutionSummary } from './execution-api.ts';
import { PageReader } from './page-reader.ts';

/** Criteria of a search; all must hold. */
export interface ExecutionFilter {
  /** Exact workflow names; any when absent. */
  readonly workflows?: readonly string[];
  readonly statuses?: readonly WorkflowStatus[];
  readonly route?: string;
  readonly clientId?: string;
  /** Bounds of the start time, milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
}

/** One execution of a list. Of request and response, it contains only the status code. */
export interface ListedExecution extends Caller {
  readonly executionId: string;
  readonly workflow: string;
  readonly version: number;
  readonly state: WorkflowStatus;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Milliseconds from start to end; absent while the execution is running. */
  readonly durationMs?: number;
  /** Status code of the back end's response. */
  readonly responseStatus?: number;
}

/** The result of {@link findExecutions}. */
export interface ExecutionList {
  /** Newest first. */
  readonly executions: readonly ListedExecution[];
  /** False when the search stopped at the limit of rows to read. */
  readonly isComplete: boolean;
  /** Number of rows of the index that were read. */
  readonly scanned: number;
}

/**
 * Returns the newest executions that match the filter.
 * @param bounds `limit`: number of executions to find; `maxScanned`: number of rows of the index to read
 */
export async function findExecutions(
  api: ExecutionApi,
  filter: ExecutionFilter,
  bounds: { limit: number; maxScanned: number },
): Promise<ExecutionList> {
  const types = filter.workflows ?? [undefined];
  const lists = await Promise.all(types.map((workflowType) => findOfType(api, { filter, workflowType, bounds })));
  const executions = lists
    .flatMap((list) => list.executions)
    .toSorted((one, other) => Date.parse(other.startedAt) - Date.parse(one.startedAt))
    .slice(0, bounds.limit);
  return {
    executions,
    isComplete: lists.every((list) => list.isComplete),
    scanned: lists.reduce((sum, list) => sum + list.scanned, 0),
  };
}

interface TypeSearch {
  readonly filter: ExecutionFilter;
  readonly workflowType: string | undefined;
  readonly bounds: { limit: number; maxScanned: number };
}

async function findOfType(api: ExecutionApi, { filter, workflowType, bounds }: TypeSearch): Promise<ExecutionList> {
  const query = toQuery(filter, workflowType);
  const executions: ListedExecution[] = [];
  let scanned = 0;
  const pages = new PageReader(api, bounds.limit);
  for (;;) {
    const { rows, isLast } = await pages.read(query, { offset: scanned, order: 'newest' });
    scanned += rows.length;
    for (const row of rows) {
      const listed = await toListed(api, row, { filter, workflowType });
      if (listed !== null) executions.push(listed);
      if (executions.length === bounds.limit) return { executions, isComplete: true, scanned };
    }
    if (isLast) return { executions, isComplete: true, scanned };
    if (scanned >= bounds.maxScanned) return { executions, isComplete: false, scanned };
  }
}

function toQuery({ statuses, since, until }: ExecutionFilter, workflowType: string | undefined): ExecutionQuery {
  return {
    ...(workflowType === undefined ? {} : { workflowType }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(since === undefined ? {} : { startedAfter: since }),
    ...(until === undefined ? {} : { startedBefore: until }),
  };
}

/** Returns the execution of a row, read from the engine; null when the execution does not match the filter. */
async function toListed(
  api: ExecutionApi,
  row: ExecutionSummary,
  { filter, workflowType }: Pick<TypeSearch, 'filter' | 'workflowType'>,
): Promise<ListedExecution | null> {
  if (workflowType !== undefined && row.workflowType !== workflowType) return null;
  if (!mayBeOf(row.input, filter)) return null;
  const execution = await api.readWhole(row.workflowId, { includeTasks: false });
  if (execution === null) return null;
  const caller = callerOf(execution.input);
  if (filter.clientId !== undefined && caller.clientId !== filter.clientId) return null;
  if (filter.route !== undefined && caller.route !== filter.route) return null;
  // The index may lag behind, so the state of the execution itself counts.
  if (filter.statuses !== undefined && !filter.statuses.includes(execution.status)) return null;
  const { workflowId: executionId, workflowType: workflow, version, startTime: startedAt } = row;
  const responseStatus = responseStatusOf(execution.output);
  return {
    executionId,
    workflow,
    version,
    state: execution.status,
    startedAt,
    ...(execution.endTime > 0 ? { durationMs: execution.endTime - execution.startTime } : {}),
    ...(responseStatus === undefined ? {} : { responseStatus }),
    ...caller,
  };
}

/** Returns the status code of the back end's response in a workflow's output; undefined when there is none. */
export function responseStatusOf(output: Readonly<Record<string, unknown>>): number | undefined {
  const status = (output['outbound'] as { statusCodeValue?: unknown } | null | undefined)?.statusCodeValue;
  return typeof status === 'number' ? status : undefined;
}
