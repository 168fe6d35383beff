// Runs one round of pruning: deletes executions rule by rule, then event records, in batches with pauses for the
// engine.

import { setTimeout as pause } from 'node:timers/promises';
import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { type Batch, countPrunable, pruneExecutions, type PruneContext } from './prune-executions.ts';
import type { PruneRule } from './rules.ts';

/** Options of one round. */
export interface PruneOptions extends Pick<
  PruneContext,
  'api' | 'now' | 'batchSize' | 'signal' | 'orphanAfterMs' | 'maxOrphans'
> {
  readonly rules: readonly PruneRule[];
  /** The engine's database; null to keep event records and orphaned index rows. */
  readonly database: EngineDatabase | null;
  /** Age in milliseconds above which event records are deleted. */
  readonly eventsOlderThanMs: number;
}

/** What a round would delete, for dry runs and progress bars. */
export interface PrunePlan {
  readonly rules: readonly (PruneRule & { readonly executions: number })[];
  /** Event records; null without a database. */
  readonly events: number | null;
}

/** Result of one round. */
export interface PruneReport {
  /** Executions that were deleted. */
  readonly executions: number;
  /** Executions that were kept although the index shows them as ended. */
  readonly kept: number;
  /**
   * Index rows without an execution. Rows in the engine's index are deleted only when there is a database; records in
   * Redis are always deleted.
   */
  readonly orphans: number;
  /** Event records that were deleted; null without a database. */
  readonly events: number | null;
  /** False when the round was stopped; the next round continues. */
  readonly isComplete: boolean;
  /**
   * Error that stopped the recording of executions that had ended without a router noticing. The rest of the round was
   * done.
   */
  readonly failure?: Error;
}

/** Default of `maxOrphans` with a database. After an error, at most this many orphans must be searched for again. */
const defaultMaxOrphans = 10_000;

/** Counts what a round would delete, without deleting anything. */
export async function planPrune({ rules, api, now, database, eventsOlderThanMs }: PruneOptions): Promise<PrunePlan> {
  const counted = [];
  for (const rule of rules) counted.push({ ...rule, executions: await countPrunable(rule, { api, now }) });
  return { rules: counted, events: database === null ? null : await database.countEvents(now - eventsOlderThanMs) };
}

/**
 * Runs one round. It can be stopped, killed and repeated at any time, and several rounds may run at once.
 * @param onProgress called with the number of entries processed since the last call
 */
export async function prune(
  options: PruneOptions,
  onProgress: (done: number) => void = () => undefined,
): Promise<PruneReport> {
  const { rules, database } = options;
  const pacer = new Pacer(options.signal);
  const failure = await recordEnds(options, pacer);
  const onBatch = async ({ inspected }: Batch) => {
    onProgress(inspected);
    await pacer.rest();
  };
  const total = { executions: 0, kept: 0, orphans: 0 };
  for (const rule of rules) {
    pacer.begin();
    const done = await pruneRule(rule, options, onBatch);
    total.executions += done.executions;
    total.kept += done.kept;
    total.orphans += done.orphans;
  }
  const events = database === null ? null : await pruneEvents(database, options, { pacer, onProgress });
  const isComplete = options.signal?.aborted !== true;
  return { ...total, events, isComplete, ...(failure === undefined ? {} : { failure }) };
}

/**
 * On an engine without an index, records executions that ended without a router noticing: a search for ended executions
 * finds only those recorded as ended. If this fails, the error is returned instead of thrown, because the other
 * executions can still be pruned.
 */
async function recordEnds({ api, signal }: PruneOptions, pacer: Pacer): Promise<Error | undefined> {
  if (signal?.aborted === true) return undefined;
  try {
    await api.recordEnds(async () => {
      await pacer.rest();
      return signal?.aborted !== true;
    });
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/**
 * Deletes the executions of one rule. When there is a database, also deletes the rule's orphans from the engine's
 * index; otherwise, only counts them.
 */
async function pruneRule(
  rule: PruneRule,
  { database, maxOrphans = defaultMaxOrphans, ...context }: PruneOptions,
  onBatch: NonNullable<PruneContext['onBatch']>,
): Promise<Pick<PruneReport, 'executions' | 'kept' | 'orphans'>> {
  const { api, batchSize, signal } = context;
  const removeRows = async (ids: readonly string[]) => (ids.length > 0 && (await database?.removeIndexRows(ids))) || 0;
  // Without a database, the rows of orphans stay in the engine's index. Each new search would return them again, so a
  // single search without a limit continues past them to the rows that follow.
  const limit = database === null ? undefined : maxOrphans;
  const total = { executions: 0, kept: 0, orphans: 0 };
  for (;;) {
    const { removed, kept, orphans } = await pruneExecutions(rule, {
      ...context,
      ...{ onBatch, removeRows, maxOrphans: limit },
    });
    let rows = 0;
    for (let at = 0; at < orphans.length && signal?.aborted !== true; at += batchSize) {
      const batch = orphans.slice(at, at + batchSize);
      await api.forget(batch);
      rows += await removeRows(batch);
    }
    total.executions += removed;
    total.kept = kept;
    total.orphans += orphans.length;
    const isLimited = limit !== undefined && orphans.length >= limit;
    if (!isLimited || rows === 0 || signal?.aborted === true) return total;
  }
}

async function pruneEvents(
  database: EngineDatabase,
  { now, eventsOlderThanMs, batchSize, signal }: PruneOptions,
  { pacer, onProgress }: { pacer: Pacer; onProgress: (done: number) => void },
): Promise<number> {
  let removed = 0;
  pacer.begin();
  while (signal?.aborted !== true) {
    const batch = await database.removeEvents(now - eventsOlderThanMs, batchSize);
    removed += batch;
    onProgress(batch);
    if (batch < batchSize) break;
    await pacer.rest();
  }
  return removed;
}

/** Limits the load on the engine: after each batch it pauses for as long as the batch took. */
class Pacer {
  readonly #signal: AbortSignal | undefined;
  #begun = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  begin(): void {
    this.#begun = performance.now();
  }

  async rest(): Promise<void> {
    const tookMs = performance.now() - this.#begun;
    const signal = this.#signal;
    // An abort ends the pause early; the caller checks the signal.
    await pause(tookMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    this.begin();
  }
}
