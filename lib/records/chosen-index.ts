// The index that finds executions: the engine's own, else the router's records, else none.

import { EngineIndex } from '#lib/conductor/executions/engine-index.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { type ExecutionIndex, NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Redis } from '#lib/redis/redis.ts';
import { ExecutionRecords } from './execution-records.ts';
import { RecordedIndex } from './recorded-index.ts';

const dayMs = 86_400_000;

/** What {@link createExecutionApi} works with. */
export interface IndexSources {
  /** Sends each request to the engine. */
  readonly call: SendRequest;
  /** The engine's response to whether it has an index; default: asked with `call`. */
  readonly presence?: IndexPresence;
  /** The router's records; undefined without `redis.url`. */
  readonly records: ExecutionRecords | undefined;
  /** Resolves when the records can be read, or Redis does not respond. */
  readonly whenReady?: () => Promise<void>;
}

/** Returns a client of the execution API that searches what there is to search. */
export function createExecutionApi(sources: IndexSources): ExecutionApi {
  return new ExecutionApi(sources.call, new ChosenIndex(sources));
}

/** Returns the records in Redis with the limits of the configuration. */
export function createRecords(redis: Redis, config: Config): ExecutionRecords {
  const keptDays = Object.entries(config).flatMap(([key, days]) =>
    /^prune\..*days$/i.test(key) && typeof days === 'number' ? [days] : [],
  );
  return new ExecutionRecords(redis, {
    keyPrefix: config['records.keyPrefix'],
    maxRecords: config['records.max'],
    // No execution is kept longer; one more day for the prune job to come.
    correlationTtlMs: (Math.max(...keptDays) + 1) * dayMs,
  });
}

/** Asks the engine at the first use, and stays with the choice. */
class ChosenIndex implements ExecutionIndex {
  readonly #presence: IndexPresence;
  readonly #engineIndex: EngineIndex;
  readonly #recordedIndex: RecordedIndex | undefined;
  readonly #whenReady: () => Promise<void>;

  constructor({ call, presence = new IndexPresence(call), records, whenReady = async () => undefined }: IndexSources) {
    this.#presence = presence;
    this.#engineIndex = new EngineIndex(call);
    this.#whenReady = whenReady;
    this.#recordedIndex = records === undefined ? undefined : new RecordedIndex(call, records);
  }

  async search(...query: Parameters<ExecutionIndex['search']>) {
    return (await this.#chosen()).search(...query);
  }

  async count(...query: Parameters<ExecutionIndex['count']>) {
    return (await this.#chosen()).count(...query);
  }

  async correlated(...query: Parameters<ExecutionIndex['correlated']>) {
    return (await this.#chosen()).correlated(...query);
  }

  async forget(executionIds: readonly string[]) {
    await (await this.#chosen()).forget(executionIds);
  }

  async #chosen(): Promise<ExecutionIndex> {
    if (await this.#presence.exists()) return this.#engineIndex;
    if (this.#recordedIndex === undefined) throw new NoExecutionIndex();
    await this.#whenReady();
    return this.#recordedIndex;
  }
}
