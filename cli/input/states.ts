// States as people type them: in any case, with `-`, `_` or a space between words.

import type { WorkflowStatus } from '#lib/conductor/types.ts';
import { CommandError } from '../outcome.ts';

/** Conductor's states of an execution. */
const executionStates: readonly WorkflowStatus[] = [
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'TIMED_OUT',
  'TERMINATED',
  'PAUSED',
];
/** States of the router's documents that Conductor calls otherwise. */
const aliases: Readonly<Record<string, WorkflowStatus>> = { CANCELLED: 'TERMINATED' };

/**
 * Conductor's states for `failed,Timed-Out,cancelled`.
 * @throws VerbError that lists the allowed ones
 */
export function parseStates(text: string, allowed: readonly WorkflowStatus[] = executionStates): WorkflowStatus[] {
  return [...new Set(parseWords(text, allowed, aliases))];
}

/** The same for any set of states. @throws VerbError that lists the allowed ones */
export function parseWords<Word extends string>(
  text: string,
  allowed: readonly Word[],
  otherNames: Readonly<Record<string, Word>> = {},
): Word[] {
  const known = new Map<string, Word>([...allowed.map((word) => [word, word] as const), ...Object.entries(otherNames)]);
  return text.split(',').map((word) => {
    const found = known.get(word.trim().toUpperCase().replace(/[- ]/g, '_'));
    if (found !== undefined) return found;
    throw new CommandError([`--state: ${word.trim()} is none of ${[...known.keys()].map(optionWord).join(', ')}`]);
  });
}

/** `timed-out`, as options are written. */
const optionWord = (state: string) => state.toLowerCase().replaceAll('_', '-');

/** `timed out`. */
export function nameOfState(state: string): string {
  return state.toLowerCase().replaceAll('_', ' ');
}
