// Renders the list of executions: the filter form, the table and the links to further pages.

import type { ExecutionList, ListedExecution } from '#lib/conductor/executions/find-executions.ts';
import { formatMs } from '../pages/format.ts';
import { type Html, html } from '../pages/html.ts';
import { executionLink, timeOf } from '../pages/links.ts';
import { stateBadge } from '../pages/state.ts';
import { table } from '../pages/table.ts';
import { ageChoices, listAddress, type ListQuery, stateChoices } from './list-filter.ts';

/** Names that the form suggests. */
export interface Suggestions {
  readonly routes: readonly string[];
  readonly workflows: readonly string[];
}

/** Renders the form. */
export function filterForm(query: ListQuery, { routes, workflows }: Suggestions): Html {
  return html`<form class="filter" action="/executions">
    ${choice({ name: 'route', label: 'Route', chosen: query.route, choices: ['', ...routes] })}
    ${choice({ name: 'workflow', label: 'Workflow', chosen: query.workflow, choices: ['', ...workflows] })}
    ${choice({ name: 'state', label: 'State', chosen: query.state, choices: ['', ...Object.keys(stateChoices)] })}
    ${choice({ name: 'since', label: 'Started', chosen: query.since, choices: Object.keys(ageChoices) })}
    ${field({ name: 'client', label: 'Client', value: query.client })}
    ${field({ name: 'id', label: 'Correlation or request id', value: query.id })}
    ${field({ name: 'until', label: 'Until (UTC)', value: query.until, example: '2026-11-21T08:00' })}
    <p class="buttons"><button>Show</button> <a href="/executions">Reset</a></p>
  </form>`;
}

interface Choice {
  readonly name: keyof ListQuery;
  readonly label: string;
  readonly chosen: string;
  readonly choices: readonly string[];
}

/**
 * Renders a drop-down list. If the chosen value is not among the choices (it may come from a link), it is added to
 * them.
 */
function choice({ name, label, chosen, choices }: Choice): Html {
  const all = choices.includes(chosen) ? choices : [...choices, chosen];
  const nameOf = (value: string) => (stateChoices[value] ?? ageChoices[value])?.name ?? (value === '' ? 'any' : value);
  const options = all.map(
    (value) =>
      html`<option value="${value}" ${value === chosen ? html`selected` : undefined}>${nameOf(value)}</option>`,
  );
  return html`<p>
    <label for="f-${name}">${label}</label>
    <select id="f-${name}" name="${name}">
      ${options}
    </select>
  </p>`;
}

function field({
  name,
  label,
  value,
  example = '',
}: {
  name: string;
  label: string;
  value: string;
  example?: string;
}): Html {
  return html`<p>
    <label for="f-${name}">${label}</label>
    <input
      id="f-${name}"
      name="${name}"
      value="${value}"
      placeholder="${example}"
      spellcheck="false"
      autocapitalize="off"
    />
  </p>`;
}

/** Renders the search result. @param now time of the search, in milliseconds since 1970 */
export function executionTable(list: ExecutionList, query: ListQuery, now: number): Html {
  const { executions, isComplete, scanned } = list;
  const incomplete = isComplete
    ? undefined
    : html`<p class="notice">
        The search looked at ${scanned} executions and stopped: the engine cannot filter by route, client or request id.
        Narrow it by state or time, or continue.
      </p>`;
  const table = executions.length === 0 ? html`<p class="none">No executions.</p>` : tableOf(executions, now);
  return html`${incomplete} ${table} ${pages(list, query, now)}`;
}

function tableOf(executions: readonly ListedExecution[], now: number): Html {
  return table(
    'executions',
    ['execution', 'started (UTC)', 'took', 'state', 'response', 'request', 'client', 'workflow'],
    executions.map((execution) => row(execution, now)),
  );
}

function row(execution: ListedExecution, now: number): Html {
  const { executionId, startedAt, durationMs, state, responseStatus, clientId, workflow } = execution;
  const started = Date.parse(startedAt);
  return html`<tr>
    <th scope="row">${executionLink(executionId)}</th>
    <td data-label="started">${timeOf(started, now)}</td>
    <td data-label="took">${durationMs === undefined ? `${formatMs(now - started)} so far` : formatMs(durationMs)}</td>
    <td data-label="state">${stateBadge(state)} ${waits(execution)}</td>
    <td data-label="response">${responseStatus ?? '–'}</td>
    <td data-label="request" class="wide">${requestOf(execution)}</td>
    <td data-label="client">${clientId ?? '–'}</td>
    <td data-label="workflow" class="wide">${workflow} <small>v${execution.version}</small></td>
  </tr>`;
}

function requestOf({ method, route, college }: ListedExecution): string {
  const parts = [method, route, college === undefined ? undefined : `college ${college}`];
  return parts.filter((part) => part !== undefined).join(' ') || '–';
}

function waits({ waitsFor }: ListedExecution): Html | undefined {
  return waitsFor === undefined ? undefined : html`<small>waits for ${waitsFor}</small>`;
}

/**
 * Renders the links to other pages. Later pages show only executions that started before the first page was loaded, so
 * that new executions do not shift the rows.
 */
function pages({ total, nextOffset }: ExecutionList, query: ListQuery, now: number): Html {
  const asOf = query.asOf === '' ? new Date(now).toISOString() : query.asOf;
  const order = query.state === 'running' ? 'Newer' : 'Older';
  const first =
    query.offset > 0 ? html`<a href="${listAddress({ ...query, asOf: '', offset: 0 })}">First page</a>` : undefined;
  const next =
    nextOffset === undefined
      ? undefined
      : html`<a href="${listAddress({ ...query, asOf, offset: nextOffset })}" rel="next">${order}</a>`;
  return html`<p class="pages">
    <span
      >Executions in the engine’s index that match the chosen state, workflow and time: ${total} (as of ${timeOf(now)}
      UTC)</span
    >
    <a href="${listAddress(query)}">Refresh</a> ${first} ${next}
  </p>`;
}
