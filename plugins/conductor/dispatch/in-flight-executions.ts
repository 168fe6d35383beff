// Executions that were started here and are waited for: what is known of their end before the engine says it.

import type { TransientMap } from '#lib/gc/transient-map.ts';
import type { LastTask } from './workflow-metadata.ts';

/** Of an execution that completes with its first task. */
export interface KnownEnd {
  /** Reference name of that task. */
  readonly referenceName: string;
  /** The workflow's output, from the task's. */
  readonly outputOf: LastTask['outputOf'];
  /** What the engine publishes when that task completes. */
  readonly events: readonly string[];
}

/** By execution id, as long as a client waits. */
export type InFlightExecutions = TransientMap<string, KnownEnd>;
