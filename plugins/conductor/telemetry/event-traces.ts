// Passes the trace context of an execution on to the executions that are started by its events.

import type { Task } from '#lib/conductor/types.ts';
import { BoundedMap } from '#lib/gc/bounded.ts';
import { traceparentOf } from '#lib/envelope/traceparent.ts';

/**
 * Maximum number of traces; the oldest is evicted. Most executions that are started by an event start within seconds.
 */
const maxTraces = 5_000;

/**
 * Traces by execution id. The execution of a PATCH starts an `mdmWF` execution through an event; that execution starts
 * `mdm-shareWF` executions through further events. The payload of the second event has no trace context, only the id of
 * the PATCH's execution (`sourceExecutionId`). After a restart, or when another router hands out the task of the
 * `mdm-shareWF` execution, that task starts a new trace.
 */
export class EventTraces {
  readonly #traces = new BoundedMap<string, string>(maxTraces);

  /** Keeps the trace of an execution that was started for a client. */
  remember(executionId: string, traceparent: string): void {
    this.#traces.set(executionId, traceparent);
  }

  /**
   * Returns the task with the trace context of its source execution. Returns the task unchanged when that trace context
   * is unknown or the task has one already.
   */
  withTrace(task: Task): Task {
    const source = task.inputData?.['sourceExecutionId'];
    if (typeof source !== 'string' || this.#traces.size === 0) return task;
    const traceparent = this.#traces.get(source);
    if (traceparent === undefined || traceparentOf(task.inputData) !== undefined) return task;
    return { ...task, inputData: { ...task.inputData, traceparent } };
  }
}
