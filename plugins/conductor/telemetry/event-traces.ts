// Carries a trace over the events: their definitions pass on which execution they come from, and the router knows its trace.

import type { Task } from '#lib/conductor/types.ts';
import { traceparentOf } from '#lib/envelope/traceparent.ts';

/** Traces of executions remembered, the latest; what follows an event comes within seconds most of the time. */
const mostRemembered = 5_000;

/**
 * A share is started by an event of an event, whose payloads have `sourceExecutionId` and no trace. One that is handed
 * out by another router, or after a restart, begins a trace of its own.
 */
export class EventTraces {
  readonly #traces = new Map<string, string>();

  /** An execution has been started for a client. */
  remember(executionId: string, traceparent: string): void {
    this.#traces.set(executionId, traceparent);
    if (this.#traces.size > mostRemembered) this.#traces.delete(this.#traces.keys().next().value as string);
  }

  /** The task as it leaves for a worker: with the trace of the execution it comes from, when that is known. */
  withTrace(task: Task): Task {
    const source = task.inputData?.['sourceExecutionId'];
    if (typeof source !== 'string' || this.#traces.size === 0) return task;
    const traceparent = this.#traces.get(source);
    if (traceparent === undefined || traceparentOf(task.inputData) !== undefined) return task;
    return { ...task, inputData: { ...task.inputData, traceparent } };
  }
}
