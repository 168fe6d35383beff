// Parses the filter of the execution list from the query of a URL, and converts it to a search.

import type { ExecutionFilter, SearchBounds } from '#lib/conductor/executions/find-executions.ts';
import { failedStatuses, openStatuses } from '#lib/conductor/executions/has-ended.ts';
import { isQueryName } from '#lib/conductor/executions/names.ts';
import { parseTime } from '#lib/conductor/executions/parse-time.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';

/** Fields of the form, with the values from the URL. An empty value does not restrict the list. */
export interface ListQuery {
  readonly route: string;
  readonly workflow: string;
  readonly state: string;
  readonly client: string;
  readonly since: string;
  readonly until: string;
  /** Time at which the first page was loaded; empty in the query of the first page itself. */
  readonly asOf: string;
  /** Correlation id or request id. */
  readonly id: string;
  readonly offset: number;
}

/** States that can be chosen, with their names. */
export const stateChoices: Readonly<Record<string, { name: string; statuses: readonly WorkflowStatus[] }>> = {
  running: { name: 'running, oldest first', statuses: openStatuses },
  unsuccessful: { name: 'failed, timed out or terminated', statuses: failedStatuses },
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

/** Maximum number of executions on one page. */
const pageSize = 25;
/** Maximum number of index rows that one page reads when the index cannot apply the filter. */
const maxScanned = 500;

/** Reads the query of a URL. */
export function parseListQuery(query: URLSearchParams): ListQuery {
  const text = (name: string) => (query.get(name) ?? '').trim();
  const offset = Number(text('offset'));
  const state = text('state');
  return {
    ...{ route: text('route'), workflow: text('workflow'), state, client: text('client'), id: text('id') },
    // Running executions of any age are listed by default, because one that hangs may be old.
    since: text('since') === '' ? (state === 'running' ? 'all' : defaultAge) : text('since'),
    ...{ until: text('until'), asOf: text('asOf') },
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

/** Returns the URL of a list. Parameters without a value are left out. */
export function listAddress(query: Partial<Record<keyof ListQuery, string | number>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== '' && value !== 0) parameters.set(name, String(value));
  return parameters.size === 0 ? '/executions' : `/executions?${parameters}`;
}

/** A search for executions. */
export interface Search {
  readonly filter: ExecutionFilter;
  readonly bounds: SearchBounds;
  readonly problems?: undefined;
}

/**
 * Returns the search for a query, or the problems of the query, one line each. `id` is checked, but it is not part of
 * the search.
 * @param now milliseconds since 1970
 */
export function toSearch(query: ListQuery, now: number): Search | { readonly problems: readonly string[] } {
  const { route, workflow, state, client, id, offset } = query;
  const since = momentOf(query.since, now);
  const until = momentOf(query.until, now);
  const asOf = momentOf(query.asOf, now);
  const example = 'must be a time such as 2026-11-21T08:00Z';
  const problems = [
    ...Object.entries({ route, workflow, client, id }).flatMap(([name, text]) =>
      text === '' || isQueryName(text) ? [] : [`${name}: only letters, digits and . : @ / + - _ are allowed`],
    ),
    ...(state === '' || Object.hasOwn(stateChoices, state)
      ? []
      : [`state: must be one of ${Object.keys(stateChoices).join(', ')}`]),
    ...Object.entries({ since, until, asOf }).flatMap(([name, time]) =>
      Number.isNaN(time) ? [`${name}: ${example}`] : [],
    ),
  ];
  if (problems.length > 0) return { problems };
  const statuses = stateChoices[state]?.statuses;
  const before = Math.min(until ?? Number.POSITIVE_INFINITY, asOf ?? Number.POSITIVE_INFINITY);
  return {
    filter: {
      ...(route === '' ? {} : { route }),
      ...(workflow === '' ? {} : { workflows: [workflow] }),
      ...(client === '' ? {} : { clientId: client }),
      ...(statuses === undefined ? {} : { statuses }),
      ...(since === undefined ? {} : { since }),
      ...(before === Number.POSITIVE_INFINITY ? {} : { until: before }),
    },
    bounds: { limit: pageSize, maxScanned, offset, order: state === 'running' ? 'oldest' : 'newest' },
  };
}

/**
 * Converts an age or a time to milliseconds since 1970. Returns undefined when there is no bound, NaN for an invalid
 * string.
 */
function momentOf(text: string, now: number): number | undefined {
  const age = Object.hasOwn(ageChoices, text) ? ageChoices[text] : undefined;
  if (age !== undefined) return age.ms === Number.POSITIVE_INFINITY ? undefined : now - age.ms;
  return text === '' ? undefined : parseTime(text);
}
