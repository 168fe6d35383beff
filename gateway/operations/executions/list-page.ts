// HTTP handlers for the list of executions and for the find box.

import type { ServerResponse } from 'node:http';
import { type ExecutionList, type ExecutionReader, findExecutions } from '#lib/conductor/executions/find-executions.ts';
import { isExecutionId } from '#lib/conductor/executions/names.ts';
import type { OperationsRoutes } from '../operations-server.ts';
import { type Html, html } from '../pages/html.ts';
import { documentOf, redirect, send } from '../pages/page.ts';
import { engineAwayView } from './engine-away.ts';
import type { EngineReaders } from './engine-reader.ts';
import { indexNotice } from './index-notice.ts';
import { listAddress, type ListQuery, parseListQuery, type Search, toSearch } from './list-filter.ts';
import { executionTable, filterForm, type Suggestions } from './list-view.ts';

/** Dependencies of the list. */
export interface ListOptions {
  readonly readers: EngineReaders;
  readonly suggestions: () => Suggestions;
  /**
   * Returns the latest execution that this router knows of. If the engine has this execution but its search finds
   * nothing, the engine has no index.
   */
  readonly latestExecution: () => string | undefined;
}

/** Returns the handlers by path. */
export function createListRoutes(options: ListOptions): OperationsRoutes {
  return {
    '/executions': (response, { query }) => sendList(response, parseListQuery(query), options),
    '/executions/find': async (response, { query }) => {
      const id = (query.get('id') ?? '').trim();
      const isExecution = isExecutionId(id) && (await isKnown(options.readers.open(response), id));
      redirect(response, isExecution ? `/executions/${id}` : listAddress({ id, since: 'all' }));
    },
  };
}

/**
 * Returns true if the engine has the execution or does not respond; in the latter case, the execution's page says so.
 */
async function isKnown(reader: ExecutionReader, id: string): Promise<boolean> {
  return reader.readState(id).then(
    (state) => state !== null,
    () => true,
  );
}

async function sendList(response: ServerResponse, query: ListQuery, options: ListOptions): Promise<void> {
  const { status, result } = await searchView(response, query, options);
  const at = listAddress({ state: ['running', 'unsuccessful'].includes(query.state) ? query.state : '' });
  const main = html`${filterForm(query, options.suggestions())} ${result}`;
  send(response, documentOf({ title: 'Executions', at, main }), { status });
}

async function searchView(
  response: ServerResponse,
  query: ListQuery,
  { readers, latestExecution }: ListOptions,
): Promise<{ status: number; result: Html }> {
  const now = Date.now();
  const search = toSearch(query, now);
  if (search.problems !== undefined) return { status: 400, result: problemList(search.problems) };
  const reader = readers.open(response);
  try {
    const list = await find(reader, query.id, search);
    const notice = await indexNotice(list, { reader, latestExecution: latestExecution() });
    return { status: 200, result: html`${notice} ${executionTable(list, query, now)}` };
  } catch (error) {
    return { status: 503, result: engineAwayView(error) };
  }
}

function problemList(problems: readonly string[]): Html {
  return html`<ul class="reasons">
    ${problems.map((problem) => html`<li>${problem}</li>`)}
  </ul>`;
}

/** @param id correlation id or request id; empty for any */
async function find(reader: ExecutionReader, id: string, { filter, bounds }: Search): Promise<ExecutionList> {
  if (id === '') return findExecutions(reader, filter, bounds);
  // The correlation id is in the index. It is the request id, except for requests with an Idempotency-Key.
  const correlated = await findExecutions(reader, { ...filter, correlationId: id }, bounds);
  return correlated.total > 0 ? correlated : findExecutions(reader, { ...filter, requestId: id }, bounds);
}
