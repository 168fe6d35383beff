// The task that is being worked on, for whoever works for it without being handed it: the caller of back ends.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '#lib/telemetry/tracing/tracer.ts';

export interface TaskScope {
  readonly taskId: string;
  /** The step of the trace that this task is; absent while tracing is off. */
  readonly span: Span | undefined;
  /** The trace that the request belongs to, as it arrived. */
  readonly traceparent: string | undefined;
  /** Time spent waiting for back ends so far, in milliseconds. */
  backEndMs: number;
}

const scopes = new AsyncLocalStorage<TaskScope>();

/** Undefined outside of {@link runTask}. */
export function currentTask(): TaskScope | undefined {
  return scopes.getStore();
}

/** Runs `work` with `scope` as its current task. */
export function runTask<T>(scope: TaskScope, work: () => Promise<T>): Promise<T> {
  return scopes.run(scope, work);
}
