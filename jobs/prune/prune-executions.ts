// Deletes ended executions in bounded batches, the oldest first. Nothing is remembered: cut off anywhere, it can begin anew.

import { setTimeout as pause } from 'node:timers/promises';
import { callerOf, mayBeOf } from '#lib/conductor/executions/caller.ts';
import type { ExecutionApi, ExecutionQuery, ExecutionSummary } from '#lib/conductor/executions/execution-api.ts';
import type { PruneRule } from './rules.ts';

export interface PruneContext {
  readonly api: ExecutionApi;
  /** Milliseconds since 1970: ages count from here, however long it takes. */
  readonly now: number;
  /** Executions deleted in one call. */
  readonly batchSize: number;
  /** Stops it between two batches. */
  readonly signal?: AbortSignal;
  /** How long a row of the index may outlive its execution before it counts as an orphan, in milliseconds. */
  readonly settleMs?: number;
  /** Called after each batch. */
  readonly onBatch?: (batch: Batch) => Promise<void> | void;
}

export interface Batch {
  readonly removed: number;
  /** Rows of the index that were looked at. */
  readonly looked: number;
}

/** What a rule came to. */
export interface PrunedExecutions {
  readonly removed: number;
  /** Rows of the index whose execution is gone already. */
  readonly orphans: readonly string[];
  /** Executions that stay although the index has them ended: they run again, or the engine refused. */
  readonly kept: number;
}

const maxOrphans = 10_000;
/** How long a row without an execution may stay before it counts as an orphan, and the pause between two looks, in milliseconds. */
const usualSettleMs = 5_000;
const settleStepMs = 100;

/** How many executions a rule would delete, as the engine's index counts them; of a shared workflow, at most so many. */
export async function countPrunable(rule: PruneRule, { api, now }: Pick<PruneContext, 'api' | 'now'>): Promise<number> {
  return (await api.search(queryOf(rule, now), { offset: 0, size: 1 })).total;
}

/** @throws EngineError when the engine is away; what was deleted until then stays so */
export async function pruneExecutions(rule: PruneRule, context: PruneContext): Promise<PrunedExecutions> {
  const { api, now, batchSize, signal, onBatch } = context;
  const seen = new SeenRows(context.settleMs ?? usualSettleMs);
  while (signal?.aborted !== true && seen.orphans.size < maxOrphans) {
    // What goes leaves the index, and what stays is skipped.
    const page = { offset: seen.kept.size + seen.orphans.size, size: batchSize, order: 'first-ended' } as const;
    const { executions } = await api.search(queryOf(rule, now), page);
    const rows = executions.filter(({ workflowId }) => !seen.removed.has(workflowId));
    const { going, gone } = await sortOut(rows, rule, api);
    const done = going.length === 0 ? [] : (await api.remove(going)).removed;
    for (const id of done) seen.removed.add(id);
    const left = executions.map(({ workflowId }) => workflowId).filter((id) => !done.includes(id));
    const hasMoved = seen.note(left, new Set(gone));
    await onBatch?.({ removed: done.length, looked: rows.length - gone.length });
    if (executions.length < batchSize) break;
    if (done.length === 0 && !hasMoved) await pause(settleStepMs);
  }
  return { removed: seen.removed.size, orphans: [...seen.orphans, ...seen.suspects()], kept: seen.kept.size };
}

/** The rows that were met: those that leave the index, and those that stay in it. */
class SeenRows {
  readonly removed = new Set<string>();
  readonly orphans = new Set<string>();
  readonly kept = new Set<string>();
  /** Rows without an execution, and when each was first met. */
  readonly #leaving = new Map<string, number>();
  readonly #settleMs: number;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /**
   * The engine takes a row out of its index a moment after the execution is gone, whoever has removed it: only one that
   * stays for long is counted among those that stay. True when there are more of these now.
   */
  note(left: readonly string[], gone: ReadonlySet<string>): boolean {
    const before = this.kept.size + this.orphans.size;
    for (const id of left) {
      if (!gone.has(id) && !this.removed.has(id)) this.kept.add(id);
      else if (this.#hasSettled(id)) this.orphans.add(id);
    }
    return this.kept.size + this.orphans.size > before;
  }

  /** Rows whose execution others have removed, and that may be on their way out: taking them out twice does no harm. */
  suspects(): string[] {
    return [...this.#leaving.keys()].filter((id) => !this.orphans.has(id) && !this.removed.has(id));
  }

  #hasSettled(id: string): boolean {
    const since = this.#leaving.get(id);
    if (since === undefined) this.#leaving.set(id, performance.now());
    return since !== undefined && performance.now() - since >= this.#settleMs;
  }
}

function queryOf({ workflow, statuses, olderThanMs }: PruneRule, now: number): ExecutionQuery {
  return {
    ...(workflow === undefined ? {} : { workflowType: workflow }),
    statuses,
    endedBefore: Math.floor(now - olderThanMs),
  };
}

/** The engine deletes whatever it is told: each is asked for whether it has ended, because the index may be behind. */
async function sortOut(
  rows: readonly ExecutionSummary[],
  rule: PruneRule,
  api: ExecutionApi,
): Promise<{ going: string[]; gone: string[] }> {
  const states = await Promise.all(
    rows.map(async (row) => (isWanted(row, rule) ? readState(row, rule, api) : 'stays')),
  );
  const pick = (wanted: string) =>
    rows.filter((_, index) => states[index] === wanted).map(({ workflowId }) => workflowId);
  return { going: pick('goes'), gone: pick('gone') };
}

function isWanted({ workflowType, input }: ExecutionSummary, { workflow, route }: PruneRule): boolean {
  return (
    (workflow === undefined || workflowType === workflow) &&
    mayBeOf(input, { ...(route === undefined ? {} : { route }) })
  );
}

async function readState(
  row: ExecutionSummary,
  rule: PruneRule,
  api: ExecutionApi,
): Promise<'goes' | 'gone' | 'stays'> {
  if (rule.route === undefined) {
    const state = await api.readState(row.workflowId);
    if (state === null) return 'gone';
    return rule.statuses.includes(state) ? 'goes' : 'stays';
  }
  const execution = await api.readWhole(row.workflowId, { includeTasks: false });
  if (execution === null) return 'gone';
  return rule.statuses.includes(execution.status) && callerOf(execution.input).route === rule.route ? 'goes' : 'stays';
}
