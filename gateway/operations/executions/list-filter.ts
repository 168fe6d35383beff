// The filter of the list of executions, as the query of its address and as a search.

import type { ExecutionFilter, SearchBounds } from '#lib/conductor/executions/find-executions.ts';
import { isQueryName } from '#lib/conductor/executions/names.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';

/** Fields of the form, with the values of the address. An empty value does not restrict the list. */
export interface ListQuery {
  readonly route: string;
  readonly workflow: string;
  readonly state: string;
  readonly client: string;
  readonly since: string;
  readonly until: string;
  /** Correlation id or request id. */
  readonly id: string;
  readonly offset: number;
}

/** States that can be chosen, with their names. */
export const stateChoices: Readonly<Record<string, { name: string; statuses: readonly WorkflowStatus[] }>> = {
  running: { name: 'running, the oldest first', statuses: ['RUNNING', 'PAUSED'] },
  unsuccessful: { name: 'failed, timed out or terminated', statuses: ['FAILED', 'TIMED_OUT', 'TERMINATED'] },
  completed: { name: 'completed', statuses: ['COMPLETED'] },
  failed: { name: 'failed', statuses: ['FAILED'] },
  'timed-out': { name: 'timed out', statuses: ['TIMED_OUT'] },
  terminated: { name: 'terminated', statuses: ['TERMINATED'] },
};

const minute = 60_000;
/** Ages that can be chosen, with their names. */
export const ageChoices: Readonly<Record<string, { name: string; ms: number }>> = {
  '15m': { name: 'last 15 minutes', ms: 15 * minute },
  '1h': { name: 'last hour', ms: 60 * minute },
  '24h': { name: 'last 24 hours', ms: 1_440 * minute },
  '7d': { name: 'last 7 days', ms: 7 * 1_440 * minute },
  all: { name: 'any time', ms: Number.POSITIVE_INFINITY },
};
const defaultAge = '24h';

/** Executions on one page. */
const pageSize = 25;
/** Rows of the index that one page reads at most, where the index cannot filter. */
const maxScanned = 500;

/** Reads the query of an address. */
export function parseListQuery(query: URLSearchParams): ListQuery {
  const text = (name: string) => (query.get(name) ?? '').trim();
  const offset = Number(text('offset'));
  const state = text('state');
  return {
    ...{ route: text('route'), workflow: text('workflow'), state, client: text('client'), id: text('id') },
    // A running execution that hangs may be old.
    since: text('since') === '' ? (state === 'running' ? 'all' : defaultAge) : text('since'),
    until: text('until'),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

/** Returns the address of a list. Parameters without a value are left out. */
export function listAddress(query: Partial<Record<keyof ListQuery, string | number>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== '' && value !== 0) parameters.set(name, String(value));
  return parameters.size === 0 ? '/executions' : `/executions?${parameters}`;
}

/** A search of executions. */
export interface Search {
  readonly filter: ExecutionFilter;
  readonly bounds: SearchBounds;
  readonly problems?: undefined;
}

/**
 * Returns the search of a query, or what is wrong with the query, one line each. `id` is not part of the search.
 * @param now milliseconds since 1970
 */
export function toSearch(query: ListQuery, now: number): Search | { readonly problems: readonly string[] } {
  const { route, workflow, state, client, since, until, offset } = query;
  const names = { route, workflow, client, id: query.id };
  const startedAfter = momentOf(since, now);
  const startedBefore = momentOf(until, now);
  const problems = [
    ...Object.entries(names).flatMap(([name, text]) =>
      text === '' || isQueryName(text) ? [] : [`${name}: only letters, digits and . : @ / + - _ are possible`],
    ),
    ...(state === '' || Object.hasOwn(stateChoices, state) ? [] : ['state: unknown']),
    ...(startedAfter === null ? ['from: not a time such as 2026-11-21T08:00Z'] : []),
    ...(startedBefore === null ? ['until: not a time such as 2026-11-21T08:00Z'] : []),
  ];
  if (problems.length > 0) return { problems };
  const statuses = stateChoices[state]?.statuses;
  return {
    filter: {
      ...(route === '' ? {} : { route }),
      ...(workflow === '' ? {} : { workflows: [workflow] }),
      ...(client === '' ? {} : { clientId: client }),
      ...(statuses === undefined ? {} : { statuses }),
      ...(startedAfter === undefined || startedAfter === null ? {} : { since: startedAfter }),
      ...(startedBefore === undefined || startedBefore === null ? {} : { until: startedBefore }),
    },
    bounds: { limit: pageSize, maxScanned, offset, order: state === 'running' ? 'oldest' : 'newest' },
  };
}

/** Returns milliseconds since 1970; undefined for no bound, null for an invalid text. Times without a zone are UTC. */
function momentOf(text: string, now: number): number | undefined | null {
  const age = Object.hasOwn(ageChoices, text) ? ageChoices[text] : undefined;
  if (age !== undefined) return age.ms === Number.POSITIVE_INFINITY ? undefined : now - age.ms;
  if (text === '') return undefined;
  const zone = /T/.test(text) && !/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) ? 'Z' : '';
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(`${text}${zone}`) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
