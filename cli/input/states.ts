// States of executions as people type them.

import type { WorkflowStatus } from '../../conductor/types.ts';
import { VerbError } from '../outcome.ts';

export const states: readonly WorkflowStatus[] = [
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'TIMED_OUT',
  'TERMINATED',
  'PAUSED',
];
/** Those that an execution leaves only when it is retried. */
export const endedStates: readonly WorkflowStatus[] = ['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED'];

/**
 * `failed,timed-out` as the engine spells it.
 * @throws VerbError that names those which are allowed
 */
export function parseStates(text: string, allowed: readonly WorkflowStatus[] = states): WorkflowStatus[] {
  const known = new Map(allowed.map((state) => [state.toLowerCase().replace('_', '-'), state]));
  return text.split(',').map((word) => {
    const state = known.get(word.trim().toLowerCase().replace('_', '-'));
    if (state === undefined) throw new VerbError([`--state: ${word} is none of ${[...known.keys()].join(', ')}`]);
    return state;
  });
}

/** `timed out`. */
export function nameOfState(state: string): string {
  return state.toLowerCase().replaceAll('_', ' ');
}
