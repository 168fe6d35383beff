// Parses states in options: case-insensitive, with `-`, `_` or a space between words.

import { endedStatuses } from '#lib/conductor/executions/has-ended.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import { CommandError } from '../outcome.ts';

/** Conductor's workflow states, in the order of the help. */
const everyStatus: readonly WorkflowStatus[] = ['RUNNING', ...endedStatuses, 'PAUSED'];
/** State names in the router's documents that differ from Conductor's names. */
const aliases: Readonly<Record<string, WorkflowStatus>> = { CANCELLED: 'TERMINATED' };

/**
 * Returns Conductor's states for a list such as `failed,Timed-Out,cancelled`.
 * @throws CommandError that lists the allowed states
 */
export function parseStates(text: string, allowed: readonly WorkflowStatus[] = everyStatus): WorkflowStatus[] {
  return [...new Set(parseWords(text, allowed, aliases))];
}

/** Like `parseStates`, for any set of states. @throws CommandError that lists the allowed states */
export function parseWords<Word extends string>(
  text: string,
  allowed: readonly Word[],
  otherNames: Readonly<Record<string, Word>> = {},
): Word[] {
  const known = new Map<string, Word>([...allowed.map((word) => [word, word] as const), ...Object.entries(otherNames)]);
  return text.split(',').map((word) => {
    const found = known.get(word.trim().toUpperCase().replace(/[- ]/g, '_'));
    if (found !== undefined) return found;
    throw new CommandError([`--state: ${word.trim()} is not one of ${[...known.keys()].map(optionWord).join(', ')}`]);
  });
}

/** Returns a state as options spell it: `timed-out`. */
const optionWord = (state: string) => state.toLowerCase().replaceAll('_', '-');
