// Decides what to do about executions outside the MDM flow. Their only possible fault is that they hang.

import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import {
  type Decision,
  type DecisionContext,
  isLost,
  isMissingRetry,
  isNeverScheduled,
  settled,
  waiting,
} from './decision.ts';
import { isProbe } from './probe.ts';

/**
 * Decides what to do about an execution. An execution without tasks would run forever, so it is terminated. A probe
 * whose task was lost is terminated too: its PATCH waits for the end of the probe, and a later round probes again.
 */
export function decideOther(execution: WholeExecution, context: DecisionContext): Decision {
  if (hasEnded(execution)) return settled;
  if (isMissingRetry(execution, context)) {
    const { httpMethod } = (execution.input['inbound'] ?? {}) as { httpMethod?: unknown };
    // A read may be repeated; whether a write was applied is unknown.
    return isSafeMethod(httpMethod)
      ? { kind: 'resume', case: 'never_retried', fallback: [] }
      : { kind: 'end', case: 'never_retried' };
  }
  if (isProbe(execution) && execution.tasks.some((task) => isLost(task, context)))
    return { kind: 'end', case: 'outcome_unknown' };
  return isNeverScheduled(execution, context) ? { kind: 'replace', case: 'never_scheduled', requests: [] } : waiting;
}
