// What a row of the engine's index can be, told from its text alone: most need no further look.

import type { ExecutionSummary } from '../conductor/executions/execution-api.ts';
import { isCut } from '../conductor/shorten-strings.ts';
import { type Flows, notifyWorkflow, patchWorkflow, shareWorkflow, updateWorkflow } from './flows.ts';

/** `other`: only looked at for whether it has a task at all. */
export type Kind = 'patch' | 'notification' | 'share' | 'update' | 'other';

/** The first field of every `inbound` and `outbound` is ours; what clients and back ends send comes behind it. */
const methodPattern = /^\{"?inbound"?[=:]\{"?httpMethod"?[=:]"?([A-Z]+)"?[,}]/;
const statusPattern = /^\{"?outbound"?[=:]\{"?statusCodeValue"?[=:](\d{3})[,}]/;
const nobodyInterested = /"?interestedSystems"?[=:]\[\]\}$/;

/** The kind of an execution that has to be looked at; null when nothing can be owed for it. */
export function classify(summary: ExecutionSummary, flows: Flows): Kind | null {
  const { workflowType, version, status, input, output } = summary;
  const running = status === 'RUNNING' || status === 'PAUSED';
  if (workflowType === patchWorkflow && flows.sourceOf(workflowType, version) !== undefined) {
    const method = methodPattern.exec(input)?.[1];
    if (method !== undefined && method !== 'PATCH') return running ? 'other' : null;
    const answered = status === 'COMPLETED' ? statusPattern.exec(output)?.[1] : undefined;
    return answered !== undefined && !answered.startsWith('2') ? null : 'patch';
  }
  if (workflowType === notifyWorkflow) {
    return status === 'COMPLETED' && nobodyInterested.test(output) ? null : 'notification';
  }
  if (workflowType === updateWorkflow) return 'update';
  if (!running) return null;
  return workflowType === shareWorkflow ? 'share' : 'other';
}

/** At most so many shares are owed for a completed notification; texts that look like one more make it a few too many. */
export function mostShares({ output }: ExecutionSummary): number {
  return isCut(output) ? Infinity : (output.match(/misCode/g)?.length ?? 0);
}
