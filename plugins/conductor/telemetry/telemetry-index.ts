// Everything that is seen of executions on their way: joins what clients wait for with what workers take and bring.

import type { Request } from 'express';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { EventTraces } from './event-traces.ts';
import {
  type EarlyEvents,
  type Pinned,
  type TelemetryDependencies,
  ExecutionTelemetry,
} from './execution-telemetry.ts';

/** Of the tasks that nobody has claimed yet, or never will (events start executions too), the latest. */
const mostEarly = 1_000;

/** Asks nobody: the router hands out every task and takes every result itself. */
export class TelemetryIndex {
  /** Of the executions that were started here. */
  readonly traces = new EventTraces();
  readonly #parts: TelemetryDependencies;
  readonly #watched = new TransientMap<string, ExecutionTelemetry>();
  /** Handed out before the answer to the start was here. */
  readonly #early = new TransientMap<string, EarlyEvents>();

  constructor(parts: TelemetryDependencies) {
    this.#parts = parts;
  }

  /** A request is about to become an execution. */
  begin(request: Request, pinned: Pinned): ExecutionTelemetry {
    return new ExecutionTelemetry(request, pinned, this.#parts);
  }

  /** It has become one. */
  started(executionId: string, watched: ExecutionTelemetry): void {
    const early = this.#early.get(executionId);
    this.#early.delete(executionId);
    this.#watched.set(executionId, watched);
    if (watched.traceparent !== undefined) this.traces.remember(executionId, watched.traceparent);
    watched.started(early);
  }

  /** Its client waits no longer. One that asked for the answer of another's execution takes nothing from that one. */
  forget(executionId: string | undefined, watched: ExecutionTelemetry): void {
    if (executionId !== undefined && this.#watched.get(executionId) === watched) this.#watched.delete(executionId);
  }

  /** A task leaves for a worker. */
  handedOut({ workflowInstanceId: executionId, taskDefName: taskType }: Task): void {
    const watched = this.#watched.get(executionId);
    if (watched !== undefined) return watched.handedOut(taskType);
    this.#early.set(executionId, { taskType, handedOutAt: performance.now() });
    if (this.#early.size > mostEarly) this.#early.delete(this.#early.keys().next().value as string);
  }

  /** A worker brings a result. */
  reported({ workflowInstanceId: executionId, outputData }: TaskResult): void {
    const backEndMs = backEndMsOf(outputData);
    const watched = this.#watched.get(executionId);
    if (watched !== undefined) return watched.reported(backEndMs);
    const early = this.#early.get(executionId);
    if (early !== undefined) Object.assign(early, { reportedAt: performance.now(), backEndMs });
  }
}

/** What the worker says of it in the task's output; a worker may leave it out. */
function backEndMsOf(outputData: TaskResult['outputData']): number | undefined {
  const { backEndMs } = (outputData?.['timing'] ?? {}) as { backEndMs?: unknown };
  return typeof backEndMs === 'number' && backEndMs >= 0 ? backEndMs : undefined;
}
