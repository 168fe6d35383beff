// One round of pruning: deletes executions rule by rule, then event records, in batches with pauses for the engine.

import { setTimeout as pause } from 'node:timers/promises';
import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { countPrunable, pruneExecutions, type PruneContext } from './prune-executions.ts';
import type { PruneRule } from './rules.ts';

/** Options of one round. */
export interface PruneOptions extends Pick<PruneContext, 'api' | 'now' | 'batchSize' | 'signal'> {
  readonly rules: readonly PruneRule[];
  /** Null: event records and orphaned index rows are kept. */
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
  /** Index rows without an execution. They are deleted when there is a database, otherwise only counted. */
  readonly orphans: number;
  /** Event records that were deleted; null without a database. */
  readonly events: number | null;
  /** False when the round was stopped; the next round continues. */
  readonly isComplete: boolean;
}

/** Counts what a round would delete, without deleting anything. */
export async function planPrune({ rules, api, now, database, eventsOlderThanMs }: PruneOptions): Promise<PrunePlan> {
  const counted = [];
  for (const rule of rules) counted.push({ ...rule, executions: await countPrunable(rule, { api, now }) });
  return { rules: counted, events: database === null ? null : await database.countEvents(now - eventsOlderThanMs) };
}

/**
 * Runs one round. It can be stopped, killed and repeated at any time, and several may run at once.
 * @param onProgress called with the number of entries processed since the last call
 */
export async function prune(
  options: PruneOptions,
  onProgress: (done: number) => void = () => undefined,
): Promise<PruneReport> {
  const { rules, database, ...rest } = options;
  const pacer = new Pacer(rest.signal);
  const removeRows = async (ids: readonly string[]) => {
    if (ids.length > 0) await database?.removeIndexRows(ids);
  };
  let executions = 0;
  let kept = 0;
  let orphans = 0;
  for (const rule of rules) {
    const onBatch = async ({ inspected }: { inspected: number }) => {
      onProgress(inspected);
      await pacer.rest();
    };
    pacer.begin();
    const done = await pruneExecutions(rule, { ...rest, onBatch, removeRows });
    executions += done.removed;
    kept += done.kept;
    orphans += done.orphans.length;
    await rest.api.forget(done.orphans);
    await removeRows(done.orphans);
  }
  const events = database === null ? null : await pruneEvents(database, options, { pacer, onProgress });
  return { executions, kept, orphans, events, isComplete: rest.signal?.aborted !== true };
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
