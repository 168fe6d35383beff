// The state of an execution or a task, as people read it.

import { type Meaning, paint } from '../colours.ts';
import { nameOfState } from '../input/states.ts';

const meanings: Readonly<Record<string, Meaning>> = {
  COMPLETED: 'good',
  RUNNING: 'changed',
  IN_PROGRESS: 'changed',
  SCHEDULED: 'changed',
  PAUSED: 'warning',
  SKIPPED: 'faint',
};

export function paintState(state: string): string {
  return paint(meanings[state] ?? 'bad', nameOfState(state));
}
