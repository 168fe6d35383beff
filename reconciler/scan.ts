// Reads the engine's index in pages: what was started since the last look, and in turns what is still running.

import type { ExecutionApi, ExecutionQuery, ExecutionSummary } from '../conductor/executions/execution-api.ts';

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
    offset: number,
  ): Promise<{ rows: readonly ExecutionSummary[]; isLast: boolean }> {
    const size = this.#size;
    const { executions, bytes } = await api.search(query, { offset, size });
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
 * Everything of one workflow type that was started since `from`, each execution once or a few times. The place up to
 * which it has read is kept in memory: after a restart the reconciler begins again at `from`.
 */
export class StartedScan {
  readonly #api: ExecutionApi;
  readonly #workflowType: string;
  readonly #pages = new Pages();
  /** Milliseconds since 1970: everything older has been read. */
  #readUpTo: number;

  constructor(api: ExecutionApi, options: { workflowType: string; from: number }) {
    this.#api = api;
    this.#workflowType = options.workflowType;
    this.#readUpTo = options.from;
  }

  /** Reads on up to `until` (milliseconds since 1970), at most `maxPages` pages. */
  async next(until: number, maxPages: number): Promise<Scanned> {
    const query = { workflowType: this.#workflowType, startedAfter: this.#readUpTo, startedBefore: until };
    const rows: ExecutionSummary[] = [];
    let isComplete = false;
    for (let page = 0; page < maxPages && !isComplete; page++) {
      const read = await this.#pages.read(this.#api, query, rows.length);
      rows.push(...read.rows);
      isComplete = read.isLast;
    }
    const last = rows.at(-1);
    // SQLite compares whole seconds: the last second is read again.
    if (last !== undefined) this.#readUpTo = Math.max(this.#readUpTo, startOfSecond(Date.parse(last.startTime)));
    return { rows, isComplete };
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
      const read = await this.#pages.read(this.#api, query, this.#offset);
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
