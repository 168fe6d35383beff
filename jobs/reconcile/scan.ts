// Reads the engine's index in pages: executions that ended since the last scan, and open executions in rotation.

import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { openStatuses } from '#lib/conductor/executions/has-ended.ts';
import { PageReader } from '#lib/conductor/executions/page-reader.ts';

/** The executions that one scan found. */
export interface ScanResult {
  readonly rows: readonly ExecutionSummary[];
  /** False when the page limit was reached before the end, or a later page could not be read. */
  readonly isComplete: boolean;
}

/**
 * Scans the executions of one workflow type that ended since `from`, each at least once, `lagMs` after its end. An
 * execution that an operator retries ends again and is read again. The position is kept in memory: after a restart the
 * scan starts again at `from`.
 */
export class EndedScan {
  readonly #workflowType: string;
  readonly #pages: PageReader;
  readonly #lagMs: number;
  readonly #overlapMs: number;
  /** Every execution that ended before this time has been read (milliseconds since 1970). */
  #readUpTo: number;

  /**
   * @param options `overlapMs`: by how much the time ranges of two consecutive scans overlap, in milliseconds. They
   *   overlap because rows can enter the index late, and overlap less if the earlier scan found a row near the end of
   *   its range
   */
  constructor(api: ExecutionApi, options: { workflowType: string; from: number; lagMs: number; overlapMs: number }) {
    this.#pages = new PageReader(api);
    this.#workflowType = options.workflowType;
    this.#lagMs = options.lagMs;
    this.#overlapMs = options.overlapMs;
    this.#readUpTo = options.from;
  }

  /**
   * Reads the next rows at the time `now` (milliseconds since 1970), at most `maxPages` pages.
   * @throws EngineError when a page cannot be read; the next call then reads again every row that this call has read
   */
  async next(now: number, maxPages: number): Promise<ScanResult> {
    const from = this.#readUpTo;
    const until = now - this.#lagMs;
    if (until <= from) return { rows: [], isComplete: true };
    const rows: ExecutionSummary[] = [];
    try {
      return { rows, isComplete: await this.#readInto(rows, { until, maxPages }) };
    } catch (error) {
      if (this.#readUpTo === from) throw error;
      // The next scan starts after these rows, so they must be returned now. If the error persists, the next scan
      // throws it.
      return { rows, isComplete: false };
    }
  }

  /** Adds rows to `rows` page by page. @returns false when the page limit was reached before the end */
  async #readInto(
    rows: ExecutionSummary[],
    { until, maxPages }: { until: number; maxPages: number },
  ): Promise<boolean> {
    let offset = 0;
    for (let page = 0; page < maxPages; page++) {
      const query = { workflowType: this.#workflowType, endedAfter: this.#readUpTo, endedBefore: until };
      const read = await this.#pages.read(query, { offset, order: 'first-ended' });
      rows.push(...read.rows);
      offset += read.rows.length;
      // A row that leaves the result, such as that of a retried execution, shifts the offsets of later rows. Each page
      // therefore starts at the end time of the previous page's last row, not at an offset. SQLite compares whole
      // seconds.
      const reached = startOfSecond(Date.parse(read.rows.at(-1)?.endTime ?? ''));
      if (reached > this.#readUpTo) {
        this.#readUpTo = reached;
        offset = 0;
      }
      if (read.isLast) {
        // Without this, the scan of a workflow that never runs would start at the beginning in every round.
        this.#readUpTo = Math.max(this.#readUpTo, startOfSecond(until - this.#overlapMs));
        return true;
      }
    }
    return false;
  }
}

/** Scans running and paused executions of every type, a limited number per round, and starts over at the end. */
export class OpenScan {
  readonly #pages: PageReader;
  /** Every execution that started before this time has been read in this rotation (milliseconds since 1970). */
  #readUpTo = 0;
  /** Number of executions that started after `#readUpTo` and have already been read; 0 only on the first page. */
  #offset = 0;

  constructor(api: ExecutionApi) {
    this.#pages = new PageReader(api);
  }

  /** Reads the next rows of executions started before `startedBefore` (milliseconds since 1970). */
  async next(startedBefore: number, maxPages: number): Promise<ScanResult> {
    const rows: ExecutionSummary[] = [];
    for (let page = 0; page < maxPages; page++) {
      const query = { statuses: openStatuses, startedAfter: this.#readUpTo, startedBefore };
      const read = await this.#pages.read(query, { offset: this.#offset });
      rows.push(...read.rows);
      if (read.isLast) {
        this.#readUpTo = 0;
        this.#offset = 0;
        return { rows, isComplete: true };
      }
      this.#moveBehind(read.rows);
    }
    return { rows, isComplete: false };
  }

  /**
   * Makes the next page start at the second in which the last row's execution started, so that the offset stays small:
   * without an index, a search asks the engine for the state of every execution up to its offset.
   */
  #moveBehind(rows: readonly ExecutionSummary[]): void {
    const reached = startOfSecond(Date.parse(rows.at(-1)?.startTime ?? ''));
    if (reached > this.#readUpTo) {
      this.#readUpTo = reached;
      this.#offset = rows.filter(({ startTime }) => Date.parse(startTime) > reached).length;
    } else {
      this.#offset += rows.length;
    }
  }
}

/** Returns one millisecond before the start of the second, for engines that compare milliseconds. */
function startOfSecond(time: number): number {
  return Math.floor(time / 1_000) * 1_000 - 1;
}
