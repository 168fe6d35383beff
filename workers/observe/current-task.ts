// Stores the current task of an asynchronous call chain, so that the back-end client does not need a parameter for it.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '#lib/telemetry/tracing/tracer.ts';

/** The current task and its telemetry. */
export interface TaskScope {
  readonly taskId: string;
  /** Span of the task; undefined while tracing is off. */
  readonly span: Span | undefined;
  /** `traceparent` of the client's request as received. */
  readonly traceparent: string | undefined;
  /** Time spent waiting for back ends so far, in milliseconds. */
  backEndMs: number;
}

const scopes = new AsyncLocalStorage<TaskScope>();

/** Returns the current task; undefined outside of {@link runInTaskScope}. */
export function currentTask(): TaskScope | undefined {
  return scopes.getStore();
}

/** Runs `work` with `scope` as its current task. */
export function runInTaskScope<T>(scope: TaskScope, work: () => Promise<T>): Promise<T> {
  return scopes.run(scope, work);
}
