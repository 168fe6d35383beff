// Searches the engine's own index of executions.

import { EngineError } from '../engine-error.ts';
import { expectSuccess, parseResponse } from '../read-response.ts';
import type { SendRequest } from '../send-call.ts';
import type { ExecutionSummary, WholeExecution } from './execution.ts';
import type {
  CorrelatedOptions,
  ExecutionIndex,
  ExecutionQuery,
  FoundExecutions,
  Order,
  Page,
} from './execution-index.ts';
import { correlatedRequest } from './requests.ts';

const sortOf: Readonly<Record<Order, string>> = {
  oldest: 'startTime:ASC|workflowId:ASC',
  newest: 'startTime:DESC|workflowId:DESC',
  'first-ended': 'endTime:ASC|workflowId:ASC',
};

/**
 * Limit on the input and the output of a row, in bytes: a page of 8 MiB responses must fit into the memory of a small
 * router.
 */
export const longestString = 65_536;

/**
 * The engine's index. An engine without an index responds to every search with an empty result: see index-presence.ts.
 */
export class EngineIndex implements ExecutionIndex {
  readonly #call: SendRequest;

  /** @param call sends each request */
  constructor(call: SendRequest) {
    this.#call = call;
  }

  /**
   * Returns a page. It can also contain executions of workflows whose name only begins with the name in the query. The
   * engine sends the whole input and output of every row, and this client truncates them: request small pages where
   * payloads may be large.
   */
  search(query: ExecutionQuery, { offset, size, order = 'oldest' }: Page): Promise<FoundExecutions> {
    return this.#read({
      query: formatQuery(withPattern(query)),
      sort: sortOf[order],
      start: String(offset),
      size: String(size),
    });
  }

  async #read(page: Readonly<Record<'query' | 'sort' | 'start' | 'size', string>>): Promise<FoundExecutions> {
    const parameters = new URLSearchParams(page);
    const response = await this.#call({ method: 'GET', path: `/api/workflow/search?${parameters}`, longestString });
    const { body, received } = expectSuccess(response, 'GET /api/workflow/search');
    const { results, totalHits } = parseResponse<{ results: ExecutionSummary[]; totalHits: number }>({ body });
    return { executions: results, total: totalHits, bytes: received ?? body.length };
  }

  async count(query: ExecutionQuery): Promise<number> {
    return (await this.#read({ query: formatQuery(query), sort: sortOf.oldest, start: '0', size: '1' })).total;
  }

  /** Reads one row for each name, because the engine cannot group rows. */
  async workflows(query: ExecutionQuery): Promise<string[]> {
    const names: string[] = [];
    for (let condition = formatQuery(query); ;) {
      const page = { query: condition, sort: 'workflowType:ASC', start: '0', size: '1' };
      const name = (await this.#read(page)).executions[0]?.workflowType;
      if (name === undefined) return names;
      // An index that ignores the condition would return the same name forever.
      if (names.includes(name))
        throw new EngineError('refused', 'the index of executions does not support comparisons of workflow names');
      names.push(name);
      condition = [formatQuery(query), `workflowType > ${name}`].filter(Boolean).join(' AND ');
    }
  }

  /**
   * Reads the execution store, which contains an execution before the index has its row. An engine that stores its
   * executions in Redis reads the index instead.
   */
  async correlated(
    name: string,
    correlationId: string,
    { includeTasks = false, startedAfter, ...limits }: CorrelatedOptions = {},
  ): Promise<WholeExecution[]> {
    const response = await this.#call({ ...correlatedRequest(name, correlationId, { includeTasks }), ...limits });
    const found = parseResponse<WholeExecution[]>(expectSuccess(response, 'GET /api/workflow/{name}/correlated/{id}'));
    return found
      .filter(({ startTime }) => startedAfter === undefined || startTime > startedAfter)
      .toSorted((one, other) => one.startTime - other.startTime);
  }

  /** The engine updates the rows itself. */
  async recordEnds(): Promise<void> {}

  /** The engine updates the rows itself. */
  async recordEnd(): Promise<boolean> {
    return false;
  }

  /** The engine removes the rows itself. */
  async forget(): Promise<void> {}
}

/**
 * Adds a final `*` to the workflow name. For an exact name, SQLite would scan all rows to sort them; for a pattern, it
 * uses the index on the start time or the correlation id.
 */
function withPattern(query: ExecutionQuery): ExecutionQuery {
  const { workflowType } = query;
  return workflowType === undefined ? query : { ...query, workflowType: workflowType.replace(/\*?$/, '*') };
}

/** Formats a query in Conductor's syntax. */
function formatQuery(query: ExecutionQuery): string {
  const { workflowType, statuses, correlationIds, startedAfter, startedBefore, endedAfter, endedBefore } = query;
  return [
    workflowType === undefined ? '' : `workflowType = ${workflowType}`,
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
