// Index of the in-flight executions: assigns each task that is handed to a worker, and each result, to the execution
// for which a client waits.

import type { IncomingMessage } from 'node:http';
import { BoundedMap } from '#lib/gc/bounded.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { EventTraces } from './event-traces.ts';
import {
  type EarlyEvents,
  type Pinned,
  type TelemetryDependencies,
  ExecutionTelemetry,
} from './execution-telemetry.ts';

/**
 * Maximum number of unclaimed tasks that are kept; the oldest is evicted. Executions started by events never claim
 * their tasks.
 */
const maxEarlyEvents = 1_000;

/**
 * Telemetry by execution id. It makes no calls to the engine, because the router itself hands out every task and
 * receives every result.
 */
export class TelemetryIndex {
  /** Traces of the executions that this router started. */
  readonly traces = new EventTraces();
  readonly #dependencies: TelemetryDependencies;
  readonly #executions = new TransientMap<string, ExecutionTelemetry>();
  /** Tasks that were handed out before the response to the start call arrived, with their times. */
  readonly #earlyEvents = new BoundedMap<string, EarlyEvents>(maxEarlyEvents);

  constructor(dependencies: TelemetryDependencies) {
    this.#dependencies = dependencies;
  }

  /** Begins the telemetry of a request that is about to start an execution. */
  begin(request: IncomingMessage, pinned: Pinned): ExecutionTelemetry {
    return new ExecutionTelemetry(request, pinned, this.#dependencies);
  }

  /** Assigns the telemetry to the execution that was started. */
  started(executionId: string, execution: ExecutionTelemetry): void {
    const early = this.#earlyEvents.get(executionId);
    this.#earlyEvents.delete(executionId);
    this.#executions.set(executionId, execution);
    if (execution.traceparent !== undefined) this.traces.remember(executionId, execution.traceparent);
    execution.started(early);
  }

  /**
   * Called when the client stops waiting. Replayed requests (same Idempotency-Key) do not affect the original
   * execution.
   */
  forget(executionId: string, execution: ExecutionTelemetry): void {
    if (this.#executions.get(executionId) === execution) this.#executions.delete(executionId);
  }

  /** Notes that a task was handed to a worker. */
  handedOut({ workflowInstanceId: executionId, taskDefName: taskType }: Task): void {
    const execution = this.#executions.get(executionId);
    if (execution !== undefined) return execution.handedOut(taskType);
    this.#earlyEvents.set(executionId, { taskType, handedOutAt: performance.now() });
  }

  /** Notes that a worker has reported a result. A lease extension is not a result: the task stays with its worker. */
  reported({ workflowInstanceId: executionId, outputData, extendLease }: TaskResult): void {
    if (extendLease === true) return;
    const backEndMs = backEndMsOf(outputData);
    const execution = this.#executions.get(executionId);
    if (execution !== undefined) return execution.reported(backEndMs);
    const early = this.#earlyEvents.get(executionId);
    if (early !== undefined) Object.assign(early, { reportedAt: performance.now(), backEndMs });
  }
}

/**
 * Returns the time spent in the back end, in milliseconds, as the worker reports it in the task's output; undefined
 * when the worker reports none.
 */
function backEndMsOf(outputData: TaskResult['outputData']): number | undefined {
  const { backEndMs } = (outputData?.['timing'] ?? {}) as { backEndMs?: unknown };
  return typeof backEndMs === 'number' && backEndMs >= 0 ? backEndMs : undefined;
}
