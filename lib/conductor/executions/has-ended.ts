// Distinguishes ended executions from open ones, as `WorkflowStatus.isTerminal` does in Conductor.

import type { WorkflowStatus } from '../types.ts';

/** Statuses of executions that have not ended. A paused execution continues when it is resumed. */
export const openStatuses: readonly WorkflowStatus[] = ['RUNNING', 'PAUSED'];

/** Statuses of executions that ended without success. */
export const failedStatuses: readonly WorkflowStatus[] = ['FAILED', 'TIMED_OUT', 'TERMINATED'];
/** Statuses of all ended executions. */
export const endedStatuses: readonly WorkflowStatus[] = ['COMPLETED', ...failedStatuses];

/** Returns true for an execution that has ended: its status is neither RUNNING nor PAUSED. */
export function hasEnded({ status }: { readonly status: WorkflowStatus }): boolean {
  return !openStatuses.includes(status);
}
