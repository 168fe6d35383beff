// Reads the engine's index in pages: executions that ended since the last scan, and running executions in rotation.

import type { ExecutionApi, ExecutionQuery, ExecutionSummary, Page } from '#lib/conductor/executions/execution-api.ts';

/** Target size of a page in bytes. Rows contain whole inputs and outputs, so the page size adapts. */
const pageBytes = 2_097_152;
const firstPageSize = 50;
const maxPageSize = 500;

/** Reads pages of a query and adapts the page size to the size of the rows. */
class AdaptivePager {
  #size = firstPageSize;

  async read(
    api: ExecutionApi,
    query: ExecutionQuery,
    from: Pick<Page, 'offset' | 'order'>,
  ): Promise<{ rows: readonly ExecutionSummary[]; isLast: boolean }> {
    const size = this.#size;
    const { executions, bytes } = await api.search(query, { ...from, size });
    const fitting = Math.floor((size * pageBytes) / Math.max(bytes, 1));
    this.#size = Math.max(1, Math.min(maxPageSize, size * 4, fitting));
    return { rows: executions, isLast: executions.length < size };
  }
}

/** Result of a scan. */
export interface ScanResult {
  readonly rows: readonly ExecutionSummary[];
  /** False when the page limit was reached before the end. */
  readonly isComplete: boolean;
}

/**
 * Scans the executions of one workflow type that ended since `from`, each at least once. An execution that an operator
 * retries ends again and is read again. The position is kept in memory: after a restart the scan starts again at `from`.
 */
export class EndedScan {
  readonly #api: ExecutionApi;
  readonly #workflowType: string;
  readonly #pages = new AdaptivePager();
  /** Every execution that ended before this time was read (milliseconds since 1970). */
  #readUpTo: number;

  constructor(api: ExecutionApi, options: { workflowType: string; from: number }) {
    this.#api = api;
    this.#workflowType = options.workflowType;
    this.#readUpTo = options.from;
  }

  /** Reads the next rows up to the end time `until` (milliseconds since 1970), at most `maxPages` pages. */
  async next(until: number, maxPages: number): Promise<ScanResult> {
    const rows: ExecutionSummary[] = [];
    let offset = 0;
    for (let page = 0; page < maxPages; page++) {
      const query = { workflowType: this.#workflowType, endedAfter: this.#readUpTo, endedBefore: until };
      const read = await this.#pages.read(this.#api, query, { offset, order: 'first-ended' });
      rows.push(...read.rows);
      offset += read.rows.length;
      // A row that leaves the result, such as a retried execution, shifts the offsets of later rows. Each page therefore
      // starts at the end time of the previous page's last row, not at an offset. SQLite compares whole seconds.
      const reached = startOfSecond(Date.parse(read.rows.at(-1)?.endTime ?? ''));
      if (reached > this.#readUpTo) {
        this.#readUpTo = reached;
        offset = 0;
      }
      if (read.isLast) return { rows, isComplete: true };
    }
    return { rows, isComplete: false };
  }
}

/** Scans running executions of every type, a limited number per round, and starts over at the end. */
export class RunningScan {
  readonly #api: ExecutionApi;
  readonly #pages = new AdaptivePager();
  #offset = 0;

  constructor(api: ExecutionApi) {
    this.#api = api;
  }

  /** Reads the next rows of executions started before `startedBefore` (milliseconds since 1970). */
  async next(startedBefore: number, maxPages: number): Promise<ScanResult> {
    const query = { status: 'RUNNING', startedBefore } as const;
    const rows: ExecutionSummary[] = [];
    for (let page = 0; page < maxPages; page++) {
      const read = await this.#pages.read(this.#api, query, { offset: this.#offset });
      rows.push(...read.rows);
      this.#offset = read.isLast ? 0 : this.#offset + read.rows.length;
      if (read.isLast) return { rows, isComplete: true };
    }
    return { rows, isComplete: false };
  }
}

/** Returns one millisecond before the start of the second, for engines that compare milliseconds. */
function startOfSecond(time: number): number {
  return Math.floor(time / 1_000) * 1_000 - 1;
}
