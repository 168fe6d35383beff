// The executions that are not settled yet: when each is looked at again, and what it owes.

import type { ExecutionSummary } from '#lib/conductor/executions/execution-api.ts';
import type { Kind } from './classify.ts';
import { type Case, cases } from './decision.ts';

export interface OpenExecution {
  readonly workflowId: string;
  readonly kind: Kind;
  /** The execution of the PATCH that this one is, or follows from. */
  readonly source: string;
  /** The row it was found by; null once it may be out of date. */
  readonly summary: ExecutionSummary | null;
}

interface Entry extends OpenExecution {
  summary: ExecutionSummary | null;
  /** Milliseconds since 1970. */
  dueAt: number;
  pauseMs: number;
  owes: Case | null;
}

/** With more, nothing new is read until some are settled. */
const maxOpen = 10_000;
/** Longest pause between two looks, in milliseconds. */
const maxPauseMs = 600_000;
/** Settled ones that the index still calls running: they are not looked at again. */
const maxMisfiled = 10_000;

export class OpenExecutions {
  readonly #entries = new Map<string, Entry>();
  readonly #misfiled = new Set<string>();
  readonly #firstPauseMs: number;

  /** @param firstPauseMs pause after the first look, in milliseconds; it doubles with each */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  get isFull(): boolean {
    return this.#entries.size >= maxOpen;
  }

  /** Notes an execution; one that is known stays as it is. */
  add(summary: ExecutionSummary, kind: Kind, now: number): void {
    const { workflowId, correlationId, status } = summary;
    if (status !== 'RUNNING') this.#misfiled.delete(workflowId);
    if (this.#entries.has(workflowId)) return;
    if (status === 'RUNNING' && (this.#misfiled.has(workflowId) || this.isFull)) return;
    const source = kind === 'patch' || kind === 'other' ? workflowId : (correlationId ?? '');
    this.#entries.set(workflowId, {
      workflowId,
      kind,
      source,
      summary,
      dueAt: now,
      pauseMs: this.#firstPauseMs,
      owes: null,
    });
  }

  /** Those to look at now: what has been due for longest first, so that none keeps another from its turn. */
  due(now: number): OpenExecution[] {
    return [...this.#entries.values()].filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt);
  }

  /** Makes every open execution due now: what it was judged by has changed. */
  wake(now: number): void {
    for (const entry of this.#entries.values()) Object.assign(entry, { dueAt: now, pauseMs: this.#firstPauseMs });
  }

  /** Nothing is owed any more. */
  settle(workflowId: string): void {
    const entry = this.#entries.get(workflowId);
    this.#entries.delete(workflowId);
    if (entry?.summary?.status !== 'RUNNING' && entry?.summary !== null) return;
    if (this.#misfiled.size >= maxMisfiled) this.#misfiled.clear();
    this.#misfiled.add(workflowId);
  }

  /** Looks again later, and ever later. */
  postpone(workflowId: string, now: number): void {
    const entry = this.#entries.get(workflowId);
    if (entry === undefined) return;
    entry.dueAt = now + entry.pauseMs;
    entry.pauseMs = Math.min(entry.pauseMs * 2, maxPauseMs);
    entry.summary = null;
  }

  /** Looks again after the first pause: it is not its turn yet. */
  defer(workflowId: string, now: number): void {
    const entry = this.#entries.get(workflowId);
    if (entry !== undefined) entry.dueAt = now + this.#firstPauseMs;
  }

  /** It owes something, until it is settled or mended. */
  owes(workflowId: string, owed: Case): void {
    const entry = this.#entries.get(workflowId);
    if (entry === undefined) return;
    entry.owes = owed;
    entry.summary = null;
  }

  /** What was owed has been done; whether it took is seen in a later round. */
  isMended(workflowId: string): void {
    const entry = this.#entries.get(workflowId);
    if (entry !== undefined) entry.owes = null;
  }

  /** How many owe what; every case is named. */
  unreconciled(): ReadonlyMap<Case, number> {
    const counts = new Map<Case, number>(cases.map((each) => [each, 0]));
    for (const { owes } of this.#entries.values()) if (owes !== null) counts.set(owes, (counts.get(owes) ?? 0) + 1);
    return counts;
  }
}
