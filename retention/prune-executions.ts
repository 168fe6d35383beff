// Deletes ended executions in bounded batches, the oldest first. Nothing is remembered: cut off anywhere, it can begin anew.

import { callerOf, mayBeOf } from '../conductor/executions/caller.ts';
import type { ExecutionApi, ExecutionQuery, ExecutionSummary } from '../conductor/executions/execution-api.ts';
import type { PruneRule } from './rules.ts';

export interface PruneContext {
  readonly api: ExecutionApi;
  /** Milliseconds since 1970: ages count from here, however long it takes. */
  readonly now: number;
  /** Executions deleted in one call. */
  readonly batchSize: number;
  /** Stops it between two batches. */
  readonly signal?: AbortSignal;
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

/** How many executions a rule would delete, as the engine's index counts them; of a shared workflow, at most so many. */
export async function countPrunable(rule: PruneRule, { api, now }: Pick<PruneContext, 'api' | 'now'>): Promise<number> {
  return (await api.search(queryOf(rule, now), { offset: 0, size: 1 })).total;
}

/** @throws EngineError when the engine is away; what was deleted until then stays so */
export async function pruneExecutions(rule: PruneRule, context: PruneContext): Promise<PrunedExecutions> {
  const { api, now, batchSize, signal, onBatch } = context;
  const orphans: string[] = [];
  let removed = 0;
  let kept = 0;
  while (signal?.aborted !== true) {
    // What goes leaves the index, and what stays is skipped.
    const page = { offset: kept + orphans.length, size: batchSize, order: 'first-ended' } as const;
    const { executions } = await api.search(queryOf(rule, now), page);
    if (executions.length === 0) break;
    const sorted = await sortOut(executions, rule, api);
    const done = sorted.going.length === 0 ? [] : (await api.remove(sorted.going)).removed;
    removed += done.length;
    orphans.push(...sorted.gone);
    kept += executions.length - done.length - sorted.gone.length;
    await onBatch?.({ removed: done.length, looked: executions.length });
    if (executions.length < batchSize || orphans.length >= maxOrphans) break;
  }
  return { removed, orphans, kept };
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
  const execution = await api.readWithoutTasks(row.workflowId);
  if (execution === null) return 'gone';
  return rule.statuses.includes(execution.status) && callerOf(execution.input).route === rule.route ? 'goes' : 'stays';
}
