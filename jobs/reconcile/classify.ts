// What a row of the engine's index can be, told from its text alone: most need no further look.

import type { ExecutionSummary } from '#lib/conductor/executions/execution-api.ts';
import { isCut } from '#lib/conductor/shorten-strings.ts';
import {
  type MdmDefinitions,
  notifyWorkflow,
  patchWorkflow,
  shareWorkflow,
  updateWorkflow,
} from './mdm-definitions.ts';

/** `other`: only looked at for whether it has a task at all. */
export type Kind = 'patch' | 'notification' | 'share' | 'update' | 'other';

/** The first field of every `inbound` and `outbound` is ours; what clients and back ends send comes behind it. */
const methodPattern = /^\{"?inbound"?[=:]\{"?httpMethod"?[=:]"?([A-Z]+)"?[,}]/;
const statusPattern = /^\{"?outbound"?[=:]\{"?statusCodeValue"?[=:](\d{3})[,}]/;
const nobodyInterested = /"?interestedSystems"?[=:]\[\]\}$/;

/** The kind of an execution that has to be looked at; null when nothing can be owed for it. */
export function classify(summary: ExecutionSummary, flows: MdmDefinitions): Kind | null {
  const { workflowType, version, status, input, output } = summary;
  const running = status === 'RUNNING' || status === 'PAUSED';
  if (workflowType === patchWorkflow && flows.mayProduceEvent(workflowType, version)) {
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

/**
 * The colleges that MDM named in a completed notification.
 * @returns undefined when the text does not tell for sure: it is cut, or names one college twice
 */
export function interestedColleges({ output }: ExecutionSummary): readonly string[] | undefined {
  const colleges = collegesIn(output);
  return isCut(output) || new Set(colleges).size < colleges.length ? undefined : colleges;
}

/** The college that a share or an update is for; undefined when the text does not tell for sure. */
export function collegeOf({ input }: ExecutionSummary): string | undefined {
  const [college, ...others] = collegesIn(input);
  return others.length === 0 ? college : undefined;
}

/** Every MIS code in a text of Java or in JSON; a text of a client's that looks like one is among them. */
function collegesIn(text: string): string[] {
  return [...text.matchAll(/misCode"?[=:]"?([0-9A-Za-z]*)/g)].map(([, college = '']) => college);
}
