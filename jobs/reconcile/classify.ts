// Classifies index rows by their text alone, because most executions need no inspection.

import { notifyWorkflow, patchWorkflow, shareWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { ExecutionSummary } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isTerminatedByReconciler } from '#lib/conductor/executions/reconciler-terminations.ts';
import { isCut } from '#lib/conductor/shorten-strings.ts';
import type { MdmDefinitions } from './mdm-definitions.ts';

/** Kind of an execution. `other`: inspected only to see whether it hangs. */
export type ExecutionKind = 'patch' | 'notification' | 'share' | 'other';

/**
 * Both patterns match only the first field of `inbound` or `outbound`. The router or a worker writes this field, so
 * client data cannot match.
 */
const methodPattern = /^\{"?inbound"?[=:]\{"?httpMethod"?[=:]"?([A-Z]+)"?[,}]/;
const statusPattern = /^\{"?outbound"?[=:]\{"?statusCodeValue"?[=:](\d{3})[,}]/;
/** Output of an execution of mdm-shareWF whose task did not end. */
const noOutput = '{}';
const noInterestedSystems = /"?interestedSystems"?[=:]\[\]\}$/;

/** Returns the kind of an execution that needs inspection; null when nothing can be missing. */
export function classify(summary: ExecutionSummary, mdmDefinitions: MdmDefinitions): ExecutionKind | null {
  const { workflowType, version, status, input, output } = summary;
  if (workflowType === patchWorkflow && mdmDefinitions.mayProduceEvent(workflowType, version)) {
    const method = methodPattern.exec(input)?.[1];
    if (method !== undefined && method !== 'PATCH') return hasEnded(summary) ? null : 'other';
    const statusCode = status === 'COMPLETED' ? statusPattern.exec(output)?.[1] : undefined;
    return statusCode !== undefined && !statusCode.startsWith('2') ? null : 'patch';
  }
  if (workflowType === notifyWorkflow) {
    return status === 'COMPLETED' && noInterestedSystems.test(output) ? null : 'notification';
  }
  if (workflowType === shareWorkflow) {
    if (!hasEnded(summary) || isTerminatedByReconciler(summary)) return 'share';
    return status !== 'COMPLETED' || output !== noOutput ? null : 'share';
  }
  return hasEnded(summary) ? null : 'other';
}

/** Returns true when MDM has responded to a notification. */
export function namesInterestedSystems({ output }: ExecutionSummary): boolean {
  return /interestedSystems"?[=:]\[/.test(output);
}

/**
 * Returns the colleges that MDM named in a completed notification.
 * @returns undefined when the text is ambiguous: it is truncated, or names a college twice
 */
export function interestedColleges({ output }: ExecutionSummary): readonly string[] | undefined {
  const colleges = collegesIn(output);
  return isCut(output) || new Set(colleges).size < colleges.length ? undefined : colleges;
}

/** Returns the college of an execution of mdm-shareWF; undefined when the text is ambiguous. */
export function collegeOf({ input }: ExecutionSummary): string | undefined {
  const [college, ...others] = collegesIn(input);
  return others.length === 0 ? college : undefined;
}

/** Returns every MIS code in a Java map text or JSON. Client data that looks like an MIS code is included. */
function collegesIn(text: string): string[] {
  return [...text.matchAll(/misCode"?[=:]"?([0-9A-Za-z]*)/g)].map(([, college = '']) => college);
}
