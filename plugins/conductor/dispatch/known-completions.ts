// Types for in-flight executions of this router whose completion can be predicted from their definitions.

import type { TransientMap } from '#lib/gc/transient-map.ts';
import type { LastTask } from './workflow-metadata.ts';

/** The completion of an execution that completes with its first task. */
export interface KnownCompletion {
  /** Reference name of the first task. */
  readonly referenceName: string;
  /** Computes the workflow's output from the task's output. */
  readonly outputOf: LastTask['outputOf'];
  /** Events that the engine publishes when that task completes. */
  readonly events: readonly string[];
}

/** Known completions by execution id; an entry exists while a client waits. */
export type KnownCompletions = TransientMap<string, KnownCompletion>;
