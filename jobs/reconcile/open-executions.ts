// The work list of the reconciler: executions that need inspection, when each is due, and what is missing.

import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { type Case, cases } from '#lib/conductor/executions/reconciler-terminations.ts';
import { BoundedMap } from '#lib/gc/bounded.ts';
import type { ExecutionKind } from './classify.ts';
import type { ProbedBackEnd } from './probe-limiter.ts';

/** An execution that needs inspection. */
export interface OpenExecution {
  readonly workflowId: string;
  readonly kind: ExecutionKind;
  /** Execution id of the PATCH: this execution itself, or the one that it follows from. */
  readonly source: string;
  /** The index row; null once it may be outdated. */
  readonly summary: ExecutionSummary | null;
  /** The back end to be probed for this execution once a permit is free. */
  readonly waitsFor?: ProbedBackEnd | undefined;
}

interface Entry extends OpenExecution {
  summary: ExecutionSummary | null;
  waitsFor?: ProbedBackEnd | undefined;
  /** Milliseconds since 1970. */
  dueAt: number;
  pauseMs: number;
  missing: Case | null;
  /** Whether the execution had ended when its index row was last read. */
  hasEnded: boolean;
  /** The tasks in progress at the last inspection, and since when they have been unchanged (monotonic milliseconds). */
  inProgress: { readonly tasks: string; readonly since: number } | null;
}

/** Number of ended executions at which scanning for more of them stops until some are removed. */
const maxEnded = 10_000;
/** Size of the list at which no further running or paused executions are added; the scan finds them again later. */
const maxEntries = 2 * maxEnded;
/** Longest pause between two inspections, in milliseconds. */
const maxPauseMs = 600_000;
/** Number of removed executions that are remembered because the index may still list them as open. */
const maxStaleRows = 10_000;

/** A work list with exponential pauses between inspections. */
export class OpenExecutions {
  readonly #entries = new Map<string, Entry>();
  /**
   * Executions that have ended but that the index may still list as open. The value is the time (milliseconds since
   * 1970) until which an open row is ignored as outdated. After that time, an open row may mean that an operator has
   * retried the execution.
   */
  readonly #staleUntil = new BoundedMap<string, number>(maxStaleRows);
  readonly #firstPauseMs: number;

  /** @param firstPauseMs pause after the first inspection, in milliseconds; it doubles with each inspection */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /**
   * True when no further ended executions should be scanned. Running executions do not count: ended executions must be
   * scanned even while thousands of executions wait for MDM or for the workers of one college.
   */
  get isFull(): boolean {
    return [...this.#entries.values()].filter((entry) => entry.hasEnded).length >= maxEnded;
  }

  /** Adds an execution. A known execution that has ended since its last inspection is due immediately. */
  add(summary: ExecutionSummary, kind: ExecutionKind, now: number): void {
    const { workflowId, correlationId } = summary;
    if (hasEnded(summary)) this.#staleUntil.delete(workflowId);
    const known = this.#entries.get(workflowId);
    if (known !== undefined) {
      known.hasEnded = hasEnded(summary);
      const hasNews = hasEnded(summary) && known.summary === null && known.missing === null;
      if (hasNews) Object.assign(known, { summary, dueAt: now, pauseMs: this.#firstPauseMs });
      return;
    }
    const isStale = (this.#staleUntil.get(workflowId) ?? 0) > now;
    if (!hasEnded(summary) && (isStale || this.#entries.size >= maxEntries)) return;
    const source = kind === 'patch' || kind === 'other' ? workflowId : (correlationId ?? '');
    this.#entries.set(workflowId, {
      workflowId,
      kind,
      source,
      summary,
      dueAt: now,
      pauseMs: this.#firstPauseMs,
      missing: null,
      hasEnded: hasEnded(summary),
      inProgress: null,
    });
  }

  /** Returns the executions to inspect now, the longest overdue first, so that none starves. */
  due(now: number): OpenExecution[] {
    return [...this.#entries.values()].filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt);
  }

  /** Makes every execution due now, because the definitions have changed or the clock has been set back. */
  makeAllDue(now: number): void {
    for (const entry of this.#entries.values()) Object.assign(entry, { dueAt: now, pauseMs: this.#firstPauseMs });
    this.#staleUntil.clear();
  }

  /** Removes an execution for which nothing is missing. */
  remove(workflowId: string, now: number): void {
    const entry = this.#entries.get(workflowId);
    this.#entries.delete(workflowId);
    if (entry === undefined || (entry.summary !== null && hasEnded(entry.summary))) return;
    this.#staleUntil.delete(workflowId);
    this.#staleUntil.set(workflowId, now + maxPauseMs);
  }

  /** Schedules the next inspection after a pause that doubles each time. */
  postpone(workflowId: string, now: number): void {
    const entry = this.#entries.get(workflowId);
    if (entry === undefined) return;
    entry.dueAt = now + entry.pauseMs;
    entry.pauseMs = Math.min(entry.pauseMs * 2, maxPauseMs);
    entry.summary = null;
  }

  /**
   * Records the tasks in progress that an inspection found, and returns for how long inspections have found the same
   * tasks, in milliseconds.
   * @param now monotonic, in milliseconds
   */
  recordInProgress(workflowId: string, tasks: string, now: number): number {
    const entry = this.#entries.get(workflowId);
    if (entry === undefined) return 0;
    if (entry.inProgress?.tasks !== tasks) {
      entry.inProgress = { tasks, since: now };
      // The task has begun: even after a long wait, the execution is now inspected as often as a new one.
      if (tasks !== '') entry.pauseMs = this.#firstPauseMs;
    }
    return now - entry.inProgress.since;
  }

  /** Makes the execution wait for a permit to probe its back end; with undefined, the execution no longer waits. */
  markWaitingFor(workflowId: string, backEnd: ProbedBackEnd | undefined): void {
    const entry = this.#entries.get(workflowId);
    if (entry !== undefined) entry.waitsFor = backEnd;
  }

  /** Schedules the next inspection after the first pause, because the execution's event may still be queued. */
  retrySoon(workflowId: string, now: number): void {
    const entry = this.#entries.get(workflowId);
    if (entry !== undefined) entry.dueAt = now + this.#firstPauseMs;
  }

  /** Records the missing follow-up until the execution is removed or repaired. */
  markMissing(workflowId: string, missing: Case): void {
    const entry = this.#entries.get(workflowId);
    if (entry === undefined) return;
    entry.missing = missing;
    entry.summary = null;
  }

  /** Records a repair. A later round verifies its effect. */
  markRepaired(workflowId: string): void {
    const entry = this.#entries.get(workflowId);
    if (entry !== undefined) entry.missing = null;
  }

  /** Returns the number of executions with a missing follow-up for every case, including zeros. */
  unreconciled(): ReadonlyMap<Case, number> {
    const counts = new Map<Case, number>(cases.map((each) => [each, 0]));
    for (const { missing } of this.#entries.values())
      if (missing !== null) counts.set(missing, (counts.get(missing) ?? 0) + 1);
    return counts;
  }
}
