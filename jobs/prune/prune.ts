// One round of pruning: executions by every rule, then the engine's records of events, in batches that leave it room to work.

import { setTimeout as pause } from 'node:timers/promises';
import type { EngineDatabase } from '#lib/conductor/database/database.ts';
import { countPrunable, pruneExecutions, type PruneContext } from './prune-executions.ts';
import type { PruneRule } from './rules.ts';

export interface PruneOptions extends Pick<PruneContext, 'api' | 'now' | 'batchSize' | 'signal'> {
  readonly rules: readonly PruneRule[];
  /** Null: records of events stay. */
  readonly database: EngineDatabase | null;
  /** Records of events that are older than this go, in milliseconds. */
  readonly eventsOlderThanMs: number;
}

/** What there is to delete: for a dry run, and for how far a bar has to go. */
export interface PrunePlan {
  readonly rules: readonly (PruneRule & { readonly executions: number })[];
  /** Null without a database. */
  readonly events: number | null;
}

export interface PruneReport {
  readonly executions: number;
  /** Executions that stay although the index has them ended. */
  readonly kept: number;
  /** Rows of the index whose execution was gone: deleted with a database, else only counted. */
  readonly orphans: number;
  readonly events: number | null;
  /** False: it was stopped, and the next round goes on. */
  readonly isComplete: boolean;
}

/** Looks, and deletes nothing. */
export async function planPrune({ rules, api, now, database, eventsOlderThanMs }: PruneOptions): Promise<PrunePlan> {
  const counted = [];
  for (const rule of rules) counted.push({ ...rule, executions: await countPrunable(rule, { api, now }) });
  return { rules: counted, events: database === null ? null : await database.countEvents(now - eventsOlderThanMs) };
}

/**
 * Deletes. Safe to stop, to kill and to run again, also beside another one.
 * @param onProgress called with what has been dealt with since the last call
 */
export async function prune(
  options: PruneOptions,
  onProgress: (done: number) => void = () => undefined,
): Promise<PruneReport> {
  const { rules, database, signal, ...rest } = options;
  const pacer = new Pacer(signal);
  let executions = 0;
  let kept = 0;
  let orphans = 0;
  for (const rule of rules) {
    const onBatch = async ({ looked }: { looked: number }) => {
      onProgress(looked);
      await pacer.rest();
    };
    pacer.begin();
    const done = await pruneExecutions(rule, { ...rest, onBatch, ...(signal === undefined ? {} : { signal }) });
    executions += done.removed;
    kept += done.kept;
    orphans += done.orphans.length;
    await database?.removeIndexRows(done.orphans);
  }
  const events = database === null ? null : await pruneEvents(database, options, { pacer, onProgress });
  return { executions, kept, orphans, events, isComplete: signal?.aborted !== true };
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

/** The engine serves clients meanwhile: after each batch it is left alone for as long as the batch has taken. */
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
    // Stopped while it rests: that is what the next look at the signal is for.
    await pause(tookMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    this.begin();
  }
}
