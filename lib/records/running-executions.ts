// Records running executions that no router has recorded, because an event started them or the response to the start
// was lost. It also reopens the records of executions that run again after a retry.

import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { ExecutionRecords } from './execution-records.ts';
import { recordOfExecution } from './record-of.ts';

/**
 * Age at which a start without an execution counts as lost, in milliseconds: longer than any call to the engine takes.
 */
const lostStartMs = 300_000;

/**
 * Reads the engine's lists of running executions. The engine keeps these lists in every kind of database, and they need
 * no index.
 */
export class RunningExecutions {
  readonly #engine: ExecutionApi;
  readonly #metadata: Pick<MetadataApi, 'readDefinitions'>;
  readonly #records: ExecutionRecords;

  constructor(engine: ExecutionApi, metadata: Pick<MetadataApi, 'readDefinitions'>, records: ExecutionRecords) {
    this.#engine = engine;
    this.#metadata = metadata;
    this.#records = records;
  }

  /**
   * Records the running executions of these workflows. Default: all workflows; old unconfirmed starts are then removed
   * as well.
   * @throws RedisUnavailable when Redis does not accept a record: without the record, a search would not find the
   *   execution
   */
  async record(workflows?: readonly string[]): Promise<void> {
    for (const workflow of workflows ?? (await this.#workflows())) {
      for (const executionId of await this.#records.notOpen(await this.#engine.running(workflow))) {
        const execution = await this.#engine.readWhole(executionId, { includeTasks: false });
        if (execution === null) continue;
        await this.#records.putNow(recordOfExecution(execution));
        if (hasEnded(execution)) await this.#records.putEnd(executionId, execution.status);
      }
    }
    if (workflows === undefined) await this.#removeLostStarts();
  }

  /**
   * Removes unconfirmed starts older than `lostStartMs`. If such a start did create an execution, the execution is
   * recorded by now: the caller records running executions, and an execution that has ended was recorded by the router
   * that gave its task to a worker.
   */
  async #removeLostStarts(): Promise<void> {
    const now = Date.now();
    for (const start of await this.#records.starts(now - lostStartMs)) await this.#records.removeStart(start);
  }

  async #workflows(): Promise<readonly string[]> {
    const { workflows } = await this.#metadata.readDefinitions();
    return [...new Set(workflows.map(({ name }) => name))];
  }
}
