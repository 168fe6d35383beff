// Formats the state of an execution or a task.

import { nameOfState } from '#lib/conductor/executions/names.ts';
import { type Meaning, paint } from '../../output/colours.ts';

const meanings: Readonly<Record<string, Meaning>> = {
  COMPLETED: 'good',
  RUNNING: 'changed',
  IN_PROGRESS: 'changed',
  SCHEDULED: 'changed',
  PAUSED: 'warning',
  SKIPPED: 'faint',
};

/** Returns the state in lower case with spaces, coloured by its meaning. */
export function paintState(state: string): string {
  return paint(meanings[state] ?? 'bad', nameOfState(state));
}
