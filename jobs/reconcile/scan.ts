// Reads the engine's index in pages: executions that ended since the last scan, and open executions in rotation.

import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { openStatuses } from '#lib/conductor/executions/has-ended.ts';
import { PageReader } from '#lib/conductor/executions/page-reader.ts';

/** The executions that one scan found. */
export interface ScanResult {
  readonly rows: readonly ExecutionSummary[];
  /** False when the page limit was reached before the end. */
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
  /** Every execution that ended before this time was read (milliseconds since 1970). */
  #readUpTo: number;

  /**
   * @param options `overlapMs`: length of the last part of its range that a scan reads again when it found nothing new,
   *   in milliseconds, because rows can enter the index late
   */
  constructor(api: ExecutionApi, options: { workflowType: string; from: number; lagMs: number; overlapMs: number }) {
    this.#pages = new PageReader(api);
    this.#workflowType = options.workflowType;
    this.#lagMs = options.lagMs;
    this.#overlapMs = options.overlapMs;
    this.#readUpTo = options.from;
  }

  /** Reads the next rows at the time `now` (milliseconds since 1970), at most `maxPages` pages. */
  async next(now: number, maxPages: number): Promise<ScanResult> {
    const until = now - this.#lagMs;
    if (until <= this.#readUpTo) return { rows: [], isComplete: true };
    const rows: ExecutionSummary[] = [];
    let offset = 0;
    for (let page = 0; page < maxPages; page++) {
      const query = { workflowType: this.#workflowType, endedAfter: this.#readUpTo, endedBefore: until };
      const read = await this.#pages.read(query, { offset, order: 'first-ended' });
      rows.push(...read.rows);
      offset += read.rows.length;
      // A row that leaves the result, such as a retried execution, shifts the offsets of later rows. Each page
      // therefore starts at the end time of the previous page's last row, not at an offset. SQLite compares whole
      // seconds.
      const reached = startOfSecond(Date.parse(read.rows.at(-1)?.endTime ?? ''));
      if (reached > this.#readUpTo) {
        this.#readUpTo = reached;
        offset = 0;
      }
      if (read.isLast) {
        // Without this, a workflow that never runs would be searched for from the beginning in every round.
        this.#readUpTo = Math.max(this.#readUpTo, startOfSecond(until - this.#overlapMs));
        return { rows, isComplete: true };
      }
    }
    return { rows, isComplete: false };
  }
}

/** Scans running and paused executions of every type, a limited number per round, and starts over at the end. */
export class OpenScan {
  readonly #pages: PageReader;
  #offset = 0;

  constructor(api: ExecutionApi) {
    this.#pages = new PageReader(api);
  }

  /** Reads the next rows of executions started before `startedBefore` (milliseconds since 1970). */
  async next(startedBefore: number, maxPages: number): Promise<ScanResult> {
    const query = { statuses: openStatuses, startedBefore };
    const rows: ExecutionSummary[] = [];
    for (let page = 0; page < maxPages; page++) {
      const read = await this.#pages.read(query, { offset: this.#offset });
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
