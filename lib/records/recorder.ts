// Records the executions that pass through a router whose engine has no index.

import type { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import type { StartWorkflowRequest, Task, WorkflowStatus } from '#lib/conductor/types.ts';
import { type ExecutionRecords, recordsUnavailable } from './execution-records.ts';
import { recordOfStart, recordOfTask } from './record-of.ts';

/** Completes the record of one start when its outcome is known. */
export interface StartRecord {
  /** Call this with the execution id once the engine has started the execution. */
  started(executionId: string): void;
  /**
   * Call this when nothing was started. When the outcome is unknown, call neither method: the record of the start
   * remains.
   */
  notStarted(): void;
}

/** Records executions. */
export interface ExecutionRecorder {
  /**
   * Records a start before the request is sent to the engine.
   * @param isLookedUp false for a read without an Idempotency-Key. Nothing looks for the execution of such a read, so
   *   its start is not recorded before the request is sent
   * @throws EngineError when it is unknown whether the engine has an index, or when Redis does not respond. In that
   *   case, the caller must not start anything
   */
  starting(request: StartWorkflowRequest, options: { isLookedUp: boolean }): Promise<StartRecord>;
  /**
   * Records the executions of tasks that a worker is about to receive. Resolves once the executions are recorded; never
   * rejects.
   */
  polled(tasks: readonly Task[]): Promise<void>;
  /** Records the end of an execution. */
  ended(executionId: string, status: WorkflowStatus): void;
}

const noRecord: StartRecord = { started: () => undefined, notStarted: () => undefined };

/** The recorder of a router without Redis. */
export const noRecorder: ExecutionRecorder = {
  starting: async () => noRecord,
  polled: async () => undefined,
  ended: () => undefined,
};

/** Returns the recorder of a router. @param records undefined without Redis */
export function createRecorder(records: ExecutionRecords | undefined, presence: IndexPresence): ExecutionRecorder {
  return records === undefined ? noRecorder : new RedisRecorder(records, presence);
}

/** A recorder that writes to Redis. It records nothing when the engine has an index. */
export class RedisRecorder implements ExecutionRecorder {
  readonly #records: ExecutionRecords;
  readonly #presence: IndexPresence;

  constructor(records: ExecutionRecords, presence: IndexPresence) {
    this.#records = records;
    this.#presence = presence;
  }

  async starting(request: StartWorkflowRequest, { isLookedUp }: { isLookedUp: boolean }): Promise<StartRecord> {
    if (this.#presence.known ?? (await this.#presence.exists())) return noRecord;
    const start = { workflow: request.name, correlationId: request.correlationId ?? '' };
    const token = isLookedUp ? await this.#addStart(start) : undefined;
    const recorded = token === undefined ? undefined : { ...start, token };
    return {
      started: (executionId) => void this.#records.put(recordOfStart(executionId, request), recorded),
      notStarted: () => void (recorded !== undefined && this.#records.removeStart(recorded)),
    };
  }

  async polled(tasks: readonly Task[]): Promise<void> {
    if (tasks.length === 0 || (await this.#hasIndex())) return;
    await Promise.all(tasks.map((task) => this.#records.put(recordOfTask(task))));
  }

  ended(executionId: string, status: WorkflowStatus): void {
    void this.#hasIndex().then((hasIndex) => (hasIndex ? undefined : this.#records.putEnd(executionId, status)));
  }

  /**
   * Returns whether the engine has an index; false when this is unknown. A superfluous record takes less than 1 KB,
   * whereas an execution without a record is never pruned, and the reconciler would start it again.
   */
  async #hasIndex(): Promise<boolean> {
    return this.#presence.known ?? this.#presence.exists().catch(() => false);
  }

  async #addStart(start: { workflow: string; correlationId: string }): Promise<string> {
    try {
      return await this.#records.addStart(start);
    } catch (cause) {
      throw recordsUnavailable(cause);
    }
  }
}
