// An execution that was started for an Idempotency-Key although another one had been: it is not carried out.

import type { WholeExecution } from './execution-api.ts';

/** The reason of its termination. The engine keeps it, so that every router and the reconciler say the same of it. */
export const superseded = 'another execution of the same Idempotency-Key was carried out';

/** True for one that no worker was given, and none will be. */
export function isSuperseded({
  reasonForIncompletion,
}: {
  readonly reasonForIncompletion?: string | undefined;
}): boolean {
  return reasonForIncompletion === superseded;
}

/** True when no worker can have seen anything of an execution. */
export function isUntouched({ tasks }: Pick<WholeExecution, 'tasks'>): boolean {
  return tasks.every(
    ({ status, pollCount = 0, startTime = 0 }) => status === 'SCHEDULED' && pollCount === 0 && startTime === 0,
  );
}
