// Deletes ended executions in bounded batches, oldest first. It keeps no state, so it can be interrupted and restarted.

import { setTimeout as pause } from 'node:timers/promises';
import { callerOf, mayBeOf, mayBeOfOtherRoute } from '#lib/conductor/executions/caller.ts';
import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionQuery } from '#lib/conductor/executions/execution-index.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { PruneRule } from './rules.ts';

/** Dependencies and limits of one rule's deletion. */
export interface PruneContext {
  readonly api: ExecutionApi;
  /** Reference time of all ages, in milliseconds since 1970. */
  readonly now: number;
  /** Executions deleted per call. */
  readonly batchSize: number;
  /** Stops the deletion between two batches. */
  readonly signal?: AbortSignal;
  /** Time after which an index row without an execution counts as an orphan, in milliseconds. Default: 5 seconds. */
  readonly orphanAfterMs?: number;
  /** Stops after this many orphans, so that their rows can be deleted. Default: unlimited. */
  readonly maxOrphans?: number | undefined;
  /** Monotonic clock in milliseconds. Default: performance.now. */
  readonly clock?: () => number;
  /**
   * Deletes the index rows of deleted executions. The engine deletes these rows in the background, and drops a deletion
   * when a hundred others are waiting. The row of a dropped deletion stays until a later run finds that it is an
   * orphan.
   */
  readonly removeRows?: (executionIds: readonly string[]) => Promise<unknown>;
  /** Called after each batch. */
  readonly onBatch?: (batch: Batch) => Promise<void> | void;
}

/** Result of one batch. */
export interface Batch {
  readonly removed: number;
  /** Index rows that were checked and whose execution exists. */
  readonly inspected: number;
}

/** Result of one rule. */
export interface PrunedExecutions {
  readonly removed: number;
  /** Execution ids of index rows whose execution no longer exists. */
  readonly orphans: readonly string[];
  /**
   * Executions that were kept although the index shows them as ended: they belong to another route, they are running
   * again, or the engine refused to delete them.
   */
  readonly kept: number;
}

/** Default of `orphanAfterMs`, in milliseconds. */
const defaultOrphanAfterMs = 5_000;
/** Pause before rows are checked again, in milliseconds. */
const recheckPauseMs = 100;

/**
 * Returns the number of executions that a rule would delete, according to the index. It is an upper bound when routes
 * share a workflow.
 */
export async function countPrunable(rule: PruneRule, { api, now }: Pick<PruneContext, 'api' | 'now'>): Promise<number> {
  return api.count(queryOf(rule, now));
}

/**
 * Deletes the executions that a rule selects.
 * @throws EngineError when the engine is unavailable; earlier deletions remain
 */
export async function pruneExecutions(rule: PruneRule, context: PruneContext): Promise<PrunedExecutions> {
  const { api, now, batchSize, signal, onBatch, removeRows, maxOrphans = Number.POSITIVE_INFINITY } = context;
  const rowsSeen = new SeenRows(context);
  while (signal?.aborted !== true && rowsSeen.orphans.size < maxOrphans) {
    // Deleted executions leave the index; the offset skips the rows that remain.
    const page = { offset: rowsSeen.kept.size + rowsSeen.orphans.size, size: batchSize, order: 'first-ended' } as const;
    const { executions } = await api.search(queryOf(rule, now), page);
    const rows = executions.filter(({ workflowId }) => !rowsSeen.removed.has(workflowId));
    const { deletable, missing, moved } = await checkRows(rows, rule, api);
    const done = deletable.length === 0 ? [] : (await api.remove(deletable)).removed;
    for (const id of done) rowsSeen.removed.add(id);
    await removeRows?.(done);
    const gone = new Set([...done, ...moved]);
    const left = executions.map(({ workflowId }) => workflowId).filter((id) => !gone.has(id));
    const hasProgress = rowsSeen.record(left, new Set(missing)) || gone.size > 0;
    await onBatch?.({ removed: done.length, inspected: rows.length - missing.length });
    if (executions.length < batchSize) break;
    if (!hasProgress) await pause(recheckPauseMs);
  }
  return {
    removed: rowsSeen.removed.size,
    orphans: [...rowsSeen.orphans, ...rowsSeen.possibleOrphans()],
    kept: rowsSeen.kept.size,
  };
}

/** The index rows of a rule by their state: deleted, kept, or without an execution. */
class SeenRows {
  readonly removed = new Set<string>();
  readonly orphans = new Set<string>();
  readonly kept = new Set<string>();
  /** Time, by `clock`, at which each row without an execution was first seen. */
  readonly #missingSince = new Map<string, number>();
  readonly #orphanAfterMs: number;
  readonly #clock: () => number;

  constructor({ orphanAfterMs, clock }: Pick<PruneContext, 'orphanAfterMs' | 'clock'>) {
    this.#orphanAfterMs = orphanAfterMs ?? defaultOrphanAfterMs;
    this.#clock = clock ?? (() => performance.now());
  }

  /**
   * Records the rows that were not deleted. The engine removes an index row shortly after it has removed the
   * execution, so a row without an execution counts as an orphan only after `orphanAfterMs`. Returns true when the
   * number of kept rows and orphans has grown.
   */
  record(left: readonly string[], missing: ReadonlySet<string>): boolean {
    const before = this.kept.size + this.orphans.size;
    for (const id of left) {
      if (!missing.has(id) && !this.removed.has(id)) this.kept.add(id);
      else if (this.#isOrphan(id)) this.orphans.add(id);
    }
    return this.kept.size + this.orphans.size > before;
  }

  /**
   * Returns the rows without an execution that do not count as orphans yet. Removing such a row is harmless, even if
   * the engine removes it too.
   */
  possibleOrphans(): string[] {
    return [...this.#missingSince.keys()].filter((id) => !this.orphans.has(id) && !this.removed.has(id));
  }

  #isOrphan(id: string): boolean {
    const since = this.#missingSince.get(id);
    if (since === undefined) this.#missingSince.set(id, this.#clock());
    return since !== undefined && this.#clock() - since >= this.#orphanAfterMs;
  }
}

function queryOf({ workflow, statuses, olderThanMs }: PruneRule, now: number): ExecutionQuery {
  return {
    ...(workflow === undefined ? {} : { workflowType: workflow }),
    statuses,
    endedBefore: Math.floor(now - olderThanMs),
  };
}

/**
 * Reads the state of each execution: the index may be outdated, and the engine would delete even a running execution.
 */
async function checkRows(
  rows: readonly ExecutionSummary[],
  rule: PruneRule,
  api: ExecutionApi,
): Promise<Record<'deletable' | 'missing' | 'moved', string[]>> {
  const decisions = await Promise.all(
    rows.map(async (row) => (mayMatch(row, rule) ? decide(row, rule, api) : ('keep' as const))),
  );
  const idsIn = (wanted: Decision) =>
    rows.filter((_, index) => decisions[index] === wanted).map(({ workflowId }) => workflowId);
  return { deletable: idsIn('delete'), missing: idsIn('missing'), moved: idsIn('moved') };
}

function mayMatch({ workflowType, input }: ExecutionSummary, { workflow, route, exceptRoutes }: PruneRule): boolean {
  if (workflow !== undefined && workflowType !== workflow) return false;
  if (exceptRoutes !== undefined) return mayBeOfOtherRoute(input, exceptRoutes);
  return mayBeOf(input, { ...(route === undefined ? {} : { route }) });
}

/** `moved`: the row of the execution has left the result of the rule's search. */
type Decision = 'delete' | 'missing' | 'moved' | 'keep';

async function decide(row: ExecutionSummary, rule: PruneRule, api: ExecutionApi): Promise<Decision> {
  const execution = await read(row, rule, api);
  if (execution === null) return 'missing';
  // If the execution and its row have different states, the execution was retried. If it has ended again, its age
  // counts from the new end.
  const isAsFound = execution.status === row.status && rule.statuses.includes(execution.status);
  if (execution.isSelected && isAsFound) return 'delete';
  return hasEnded(execution) && (await api.recordEnd(row.workflowId, execution.status)) ? 'moved' : 'keep';
}

/**
 * Reads the state of an execution, and whether it belongs to a route that the rule covers; null when it does not exist.
 */
async function read(
  { workflowId, input }: ExecutionSummary,
  { route, exceptRoutes = [] }: PruneRule,
  api: ExecutionApi,
): Promise<{ status: WorkflowStatus; isSelected: boolean } | null> {
  if (route === undefined && !exceptRoutes.some((name) => mayBeOf(input, { route: name }))) {
    const status = await api.readState(workflowId);
    return status && { status, isSelected: true };
  }
  const execution = await api.readWhole(workflowId, { includeTasks: false });
  if (execution === null) return null;
  const { route: actual } = callerOf(execution.input);
  const isSelected = route === undefined ? actual === undefined || !exceptRoutes.includes(actual) : actual === route;
  return { status: execution.status, isSelected };
}
