// Reads the engine's index in pages: what has ended since the last look, and in turns what is still running.

import type { ExecutionApi, ExecutionQuery, ExecutionSummary, Page } from '#lib/conductor/executions/execution-api.ts';

/** Rows carry whole inputs and outputs: pages shrink until one has about this many bytes. */
const pageBytes = 2_097_152;
const firstPageSize = 50;
const maxPageSize = 500;

/** Pages of one query, none larger than need be. */
class Pages {
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

/** What a scan found. */
export interface Scanned {
  readonly rows: readonly ExecutionSummary[];
  /** False: more is there than could be read now. */
  readonly isComplete: boolean;
}

/**
 * Everything of one workflow type that has ended since `from`, each execution once or a few times. One that an operator
 * retries ends anew, and is read anew. The place up to which it has read is kept in memory: after a restart the
 * reconciler begins again at `from`.
 */
export class EndedScan {
  readonly #api: ExecutionApi;
  readonly #workflowType: string;
  readonly #pages = new Pages();
  /** Milliseconds since 1970: everything that ended before has been read. */
  #readUpTo: number;

  constructor(api: ExecutionApi, options: { workflowType: string; from: number }) {
    this.#api = api;
    this.#workflowType = options.workflowType;
    this.#readUpTo = options.from;
  }

  /** Reads on up to `until` (milliseconds since 1970), at most `maxPages` pages. */
  async next(until: number, maxPages: number): Promise<Scanned> {
    const rows: ExecutionSummary[] = [];
    let offset = 0;
    for (let page = 0; page < maxPages; page++) {
      const query = { workflowType: this.#workflowType, endedAfter: this.#readUpTo, endedBefore: until };
      const read = await this.#pages.read(this.#api, query, { offset, order: 'first-ended' });
      rows.push(...read.rows);
      offset += read.rows.length;
      // A row that leaves the query, as a retried execution does, moves those behind it to another page: each page
      // begins at the end time of the last one's last row, not at its number. SQLite compares whole seconds.
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

/** Running executions of every type, so many a round, in turns. */
export class RunningScan {
  readonly #api: ExecutionApi;
  readonly #pages = new Pages();
  #offset = 0;

  constructor(api: ExecutionApi) {
    this.#api = api;
  }

  async next(startedBefore: number, maxPages: number): Promise<Scanned> {
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

/** One millisecond before the second, for an engine that compares exactly. */
function startOfSecond(time: number): number {
  return Math.floor(time / 1_000) * 1_000 - 1;
}
