// Tells ended executions from open ones, as `WorkflowStatus.isTerminal` does in Conductor.

import type { WorkflowStatus } from '../types.ts';

/** Statuses of executions that have not ended. A paused execution continues when it is resumed. */
export const openStatuses: readonly WorkflowStatus[] = ['RUNNING', 'PAUSED'];

/** Returns true for the statuses that end an execution: all but RUNNING and PAUSED. */
export function hasEnded({ status }: { readonly status: WorkflowStatus }): boolean {
  return !openStatuses.includes(status);
}
