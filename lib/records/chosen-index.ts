// Chooses the index in which executions are found: the engine's own, otherwise the router's records, otherwise none.

import { EngineIndex } from '#lib/conductor/executions/engine-index.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Redis } from '#lib/redis/redis.ts';
import { ExecutionRecords } from './execution-records.ts';
import { RecordedIndex } from './recorded-index.ts';
import { createDropReport, type DropReportOptions, type ReportDropped } from './report-dropped.ts';

const dayMs = 86_400_000;
/**
 * Minimum time between two reads of the `prune.…` keys, in milliseconds. The keys are read again because a reload may
 * change them. They are not read for each record, because listing all keys takes 0.05 ms.
 */
const readRulesMs = 1_000;

/** Dependencies of {@link createExecutionApi}. */
export interface IndexSources {
  /** Sends each request to the engine. */
  readonly call: SendRequest;
  /** Tells whether the engine has an index; default: asks the engine through `call`. */
  readonly presence?: IndexPresence;
  /** The router's records; undefined without `redis.url`. */
  readonly records: ExecutionRecords | undefined;
  /** Resolves when the records can be read or Redis does not respond. */
  readonly whenReady?: () => Promise<void>;
}

/**
 * Returns an execution API that searches the engine's index or, if there is none, the records. The choice is made at
 * the first use.
 */
export function createExecutionApi(sources: IndexSources): ExecutionApi {
  const { call, presence = new IndexPresence(call), records, whenReady } = sources;
  const engineIndex = new EngineIndex(call);
  const recordedIndex = records && new RecordedIndex(call, records);
  return new ExecutionApi(call, async () => {
    if (await presence.exists()) return engineIndex;
    if (recordedIndex === undefined) throw new NoExecutionIndex();
    await whenReady?.();
    return recordedIndex;
  });
}

/** Dependencies of {@link recordsOf}. */
export interface RecordSources extends DropReportOptions {
  readonly redis: Redis | undefined;
  readonly config: Config;
}

/**
 * Returns the records of a router, for use in {@link createExecutionApi}; undefined without Redis. Dropped records are
 * reported.
 */
export function recordsOf({ redis, config, ...report }: RecordSources): Pick<IndexSources, 'records' | 'whenReady'> {
  if (redis === undefined) return { records: undefined };
  return { records: createRecords(redis, config, createDropReport(report)), whenReady: () => redis.firstAttempt };
}

/**
 * Returns the records in Redis, limited as configured.
 * @param config may be a live view of the active configuration, whose values change at a reload
 * @param onDropped called when records are dropped
 */
export function createRecords(redis: Redis, config: Config, onDropped?: ReportDropped): ExecutionRecords {
  const longestRule = longestRuleOf(config);
  return new ExecutionRecords(redis, {
    keyPrefix: config['records.keyPrefix'],
    maxRecords: config['records.max'],
    onDropped,
    // No execution is kept longer than the longest `prune.…` key allows. One day is added, because the prune job runs
    // once a day.
    get correlationTtlMs() {
      return (longestRule() + 1) * dayMs;
    },
  });
}

/** Returns a function that returns the longest time for which a `prune.…` key keeps executions, in days. */
function longestRuleOf(config: Config): () => number {
  let longestDays = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAt < readRulesMs) return longestDays;
    const keptDays = Object.entries(config).flatMap(([key, days]) =>
      /^prune\..*days$/i.test(key) && typeof days === 'number' ? [days] : [],
    );
    longestDays = Math.max(...keptDays);
    readAt = performance.now();
    return longestDays;
  };
}
