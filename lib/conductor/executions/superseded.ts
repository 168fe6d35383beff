// Detects superseded executions: duplicates for the same Idempotency-Key, which the router terminates before they run.

import type { WholeExecution } from './execution.ts';

/**
 * Reason for the termination. The engine stores this reason, so every router and the reconciler can recognise a
 * superseded execution.
 */
export const superseded = 'another execution of the same Idempotency-Key was carried out';

/** Returns true for a superseded execution, whose tasks no worker receives. */
export function isSuperseded({
  reasonForIncompletion,
}: {
  readonly reasonForIncompletion?: string | undefined;
}): boolean {
  return reasonForIncompletion === superseded;
}

/** Returns true when no worker can have received a task of the execution. */
export function isUntouched({ tasks }: Pick<WholeExecution, 'tasks'>): boolean {
  return tasks.every(
    ({ status, pollCount = 0, startTime = 0 }) => status === 'SCHEDULED' && pollCount === 0 && startTime === 0,
  );
}
