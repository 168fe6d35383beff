// Finds executions in the router's records, for engines that have no index.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type {
  CorrelatedOptions,
  ExecutionIndex,
  ExecutionQuery,
  FoundExecutions,
  Order,
  Page,
} from '#lib/conductor/executions/execution-index.ts';
import { hasEnded, openStatuses } from '#lib/conductor/executions/has-ended.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import {
  type ExecutionRecords,
  type RecordedExecution,
  type RecordRange,
  recordsUnavailable,
} from './execution-records.ts';
import { RunningExecutions } from './running-executions.ts';
import { compareByStart, mayMatch, rangeOf, setOf, summaryOf, toSummary } from './rows.ts';

/** Number of records read in one command. */
const chunkSize = 500;
/** Maximum number of executions read from the engine concurrently. */
const concurrentReads = 8;

type Rows = Pick<FoundExecutions, 'executions' | 'total'>;

/**
 * An execution index on the router's records. The row of an execution that a request started has no payload: its input
 * contains only the method, the route and the client.
 */
export class RecordedIndex implements ExecutionIndex {
  readonly #call: SendRequest;
  readonly #records: ExecutionRecords;
  readonly #engine: ExecutionApi;
  readonly #running: RunningExecutions;

  constructor(call: SendRequest, records: ExecutionRecords) {
    this.#call = call;
    this.#records = records;
    this.#engine = new ExecutionApi(call);
    this.#running = new RunningExecutions(this.#engine, new MetadataApi(call), records);
  }

  /**
   * Searches the records. A search for open executions also queries the engine, because events start executions that no
   * router has recorded.
   */
  search(query: ExecutionQuery, page: Page): Promise<FoundExecutions> {
    return this.#withRecords(async () => {
      const { executions, total } = await (query.correlationIds === undefined
        ? this.#searchRecords(query, page)
        : this.#searchCorrelated(query.correlationIds, page));
      const bytes = executions.reduce((sum, { input, output }) => sum + input.length + output.length, 0);
      return { executions, total, bytes };
    });
  }

  count(query: ExecutionQuery): Promise<number> {
    return this.#withRecords(async () => {
      let count = 0;
      for await (const _ of this.#matching(query, 'first-ended')) count++;
      return count;
    });
  }

  workflows(query: ExecutionQuery): Promise<string[]> {
    return this.#withRecords(async () => {
      const names = new Set<string>();
      for await (const { workflow } of this.#matching(query, 'first-ended')) names.add(workflow);
      return [...names];
    });
  }

  correlated(
    name: string,
    correlationId: string,
    { includeTasks = false, startedAfter, ...limits }: CorrelatedOptions = {},
  ): Promise<WholeExecution[]> {
    const call = limitCalls(this.#call, limits);
    return this.#withRecords(async () => {
      // After a start whose response was lost, only the engine knows the execution until a worker polls its task.
      let found = await this.#records.correlated([correlationId], startedAfter);
      if (found.hasStart) {
        await new RunningExecutions(new ExecutionApi(call), new MetadataApi(call), this.#records).record([name]);
        found = await this.#records.correlated([correlationId], startedAfter);
      }
      const executions = await readAll(new ExecutionApi(call), found.executionIds, { includeTasks });
      return executions.filter(({ workflowName }) => workflowName === name);
    });
  }

  recordEnds(onBatch: () => Promise<boolean>): Promise<void> {
    return this.#withRecords(async () => {
      for await (const _ of this.#batches({ statuses: openStatuses }, 'oldest')) if (!(await onBatch())) return;
    });
  }

  recordEnd(executionId: string, status: WorkflowStatus): Promise<boolean> {
    return this.#withRecords(() => this.#records.correctEnd(executionId, status));
  }

  forget(executionIds: readonly string[]): Promise<void> {
    return this.#withRecords(() => this.#records.forget(executionIds));
  }

  async #searchCorrelated(correlationIds: readonly string[], { offset, size }: Page): Promise<Rows> {
    const { executionIds } = await this.#records.correlated(correlationIds);
    const found = await readAll(this.#engine, executionIds, { includeTasks: false });
    return { executions: found.map(summaryOf).slice(offset, offset + size), total: found.length };
  }

  async #searchRecords(query: ExecutionQuery, { offset, size, order = 'oldest' }: Page): Promise<Rows> {
    if (setOf(query, order) === 'open' && offset === 0) await this.#running.record();
    const found: RecordedExecution[] = [];
    let total = 0;
    for await (const record of this.#matching(query, order)) {
      total++;
      // Counts one record beyond the page, so that the total shows whether another page follows.
      if (total > offset + size) break;
      if (total > offset) found.push(record);
    }
    return { executions: await this.#rowsOf(found), total };
  }

  /** Yields the matching records in order. */
  async *#matching(query: ExecutionQuery, order: Order): AsyncGenerator<RecordedExecution> {
    for await (const batch of this.#batches(query, order)) yield* batch;
  }

  /**
   * Yields the matching records in order, in batches. When an execution that is recorded as open has ended, its end is
   * recorded and its record is left out.
   */
  async *#batches(query: ExecutionQuery, order: Order): AsyncGenerator<RecordedExecution[]> {
    const set = setOf(query, order);
    const isNewestFirst = order === 'newest';
    let range: Pick<RecordRange, 'after' | 'before'> = rangeOf(query, set);
    /**
     * Ids whose time is the last millisecond of the previous chunk. The next chunk begins with that millisecond and
     * contains these ids again, so they are skipped.
     */
    let seen = new Set<string>();
    for (;;) {
      // Pages by time, not by offset: Redis would count all entries up to an offset, and records that leave the set
      // would shift the offsets.
      const count = chunkSize + seen.size;
      const { records, entries } = await this.#records.range(set, { ...range, isNewestFirst, count });
      const matching = records.filter((record) => !seen.has(record.executionId) && mayMatch(record, query));
      yield set === 'open' ? await this.#stillOpen(matching, query) : matching;
      const last = entries.at(-1);
      if (last === undefined || entries.length < count) return;
      const { time } = last;
      seen = new Set(entries.filter((entry) => entry.time === time).map(({ executionId }) => executionId));
      range = isNewestFirst ? { ...range, before: time + 1 } : { ...range, after: time - 1 };
    }
  }

  /**
   * Returns the records whose executions are still open in the engine and match the query. For an execution that has
   * ended, its end is recorded. The record of an execution that the engine no longer has is removed.
   */
  async #stillOpen(records: readonly RecordedExecution[], query: ExecutionQuery): Promise<RecordedExecution[]> {
    const open = await mapInParallel(records, async (record) => {
      const status = await this.#engine.readState(record.executionId);
      if (status !== null && !hasEnded({ status })) {
        const current = { ...record, status };
        return mayMatch(current, query) ? current : null;
      }
      if (status === null) await this.#records.forget([record.executionId]);
      else await this.#records.putEnd(record.executionId, status);
      return null;
    });
    return open.filter((record) => record !== null);
  }

  /**
   * Returns the rows of records. Executions that events have started (their rows need input and output) and executions
   * that were recorded without a version are read from the engine.
   */
  async #rowsOf(records: readonly RecordedExecution[]): Promise<ExecutionSummary[]> {
    return mapInParallel(records, async (record) => {
      if (record.method !== undefined && record.version !== undefined) return toSummary(record);
      const execution = await this.#engine.readWhole(record.executionId, { includeTasks: false });
      return execution === null ? toSummary(record) : { ...summaryOf(execution), ...timesOf(record) };
    });
  }

  async #withRecords<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) throw error;
      throw recordsUnavailable(error);
    }
  }
}

/** Returns the recorded times, by which a search selects and sorts. A reader that pages by time relies on them. */
function timesOf(record: RecordedExecution): Pick<ExecutionSummary, 'startTime' | 'endTime'> {
  const { startTime, endTime } = toSummary(record);
  return { startTime, ...(endTime === undefined ? {} : { endTime }) };
}

/**
 * Reads executions from the engine and returns them oldest first. Executions that the engine no longer has are left
 * out.
 */
async function readAll(
  engine: ExecutionApi,
  executionIds: readonly string[],
  options: { includeTasks: boolean },
): Promise<WholeExecution[]> {
  const read = await mapInParallel([...new Set(executionIds)], (id) => engine.readWhole(id, options));
  return read.filter((execution) => execution !== null).toSorted(compareByStart);
}

/**
 * Returns a function that sends requests with these limits. All requests share one deadline; after it, the function
 * throws an EngineError instead of sending.
 */
function limitCalls(
  call: SendRequest,
  { timeoutMs, ...limits }: Pick<CorrelatedOptions, 'timeoutMs' | 'longestString'>,
): SendRequest {
  if (timeoutMs === undefined) return (request) => call({ ...request, ...limits });
  const deadlineAt = performance.now() + timeoutMs;
  return async (request) => {
    const remainingMs = Math.round(deadlineAt - performance.now());
    if (remainingMs <= 0) throw new EngineError('interrupted', `no result within ${timeoutMs} ms`);
    return call({ ...request, ...limits, timeoutMs: remainingMs });
  };
}

async function mapInParallel<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += concurrentReads)
    results.push(...(await Promise.all(items.slice(at, at + concurrentReads).map(map))));
  return results;
}
