// Renders the state of an execution or task as a badge.

import { nameOfState } from '#lib/conductor/executions/names.ts';
import { type Html, html } from './html.ts';

/** Meanings of states, which determine their colours. States that are not listed are failures. */
const meanings: Readonly<Record<string, string>> = {
  COMPLETED: 'good',
  COMPLETED_WITH_ERRORS: 'late',
  RUNNING: 'open',
  IN_PROGRESS: 'open',
  SCHEDULED: 'open',
  PAUSED: 'late',
  SKIPPED: 'idle',
  CANCELED: 'idle',
};

/** Returns the meaning of a state: `good`, `open`, `late`, `idle` or `bad`; `idle` without a state. */
export function meaningOf(state: string | undefined): string {
  return state === undefined ? 'idle' : (meanings[state] ?? 'bad');
}

/** Renders a badge that shows a state both as text and by its colour. */
export function stateBadge(state: string): Html {
  return html`<span class="state ${meaningOf(state)}">${nameOfState(state)}</span>`;
}
