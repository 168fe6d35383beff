// HTTP handlers for one execution: its page, and the part of the page that refreshes itself until no change is
// expected.

import type { ServerResponse } from 'node:http';
import type { EventHandler } from '#lib/conductor/definitions/schema.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { isExecutionId } from '#lib/conductor/executions/names.ts';
import type { OperationsRoutes } from '../operations-server.ts';
import { type Html, html } from '../pages/html.ts';
import { documentOf, send } from '../pages/page.ts';
import { engineAwayView } from './engine-away.ts';
import type { EngineReaders } from './engine-reader.ts';
import { executionView } from './execution-view.ts';
import { listAddress } from './list-filter.ts';
import { readRound, type Round, stepsOf } from './round.ts';

/** Dependencies of the page. */
export interface ExecutionPageOptions {
  readonly readers: EngineReaders;
  /** Base URL of the engine's UI (`conductor.uiURL`); without it, the page has no links to the UI. */
  readonly uiURL: string | undefined;
  /** Returns the active event handlers. */
  readonly handlers: () => readonly EventHandler[];
}

/** Interval at which the page of an open execution refreshes itself, in milliseconds. */
const refreshMs = 3_000;
/** Time after the end of an execution during which its events may start follow-up executions, in milliseconds. */
const settleMs = 120_000;
/** Replaces `settleMs` when a follow-up execution is missing: after an outage, the reconciler may start it later. */
const repairMs = 3_600_000;

/** Returns the handlers by path. */
export function createExecutionRoutes(options: ExecutionPageOptions): OperationsRoutes {
  return {
    '/executions/:id': async (response, { id }) => {
      const { status, title, main, isSettled } = await view(response, id, options);
      const refresh = isSettled ? undefined : { from: `/executions/view?id=${id}`, everyMs: refreshMs };
      send(response, documentOf({ title, main, refresh }), { status });
    },
    '/executions/view': async (response, { query }) => {
      const { status, main, isSettled } = await view(response, query.get('id') ?? '', options);
      if (isSettled) response.setHeader('refresh-ended', 'true');
      send(response, main.text, { status });
    },
  };
}

interface View {
  readonly status: number;
  readonly title: string;
  readonly main: Html;
  /** True when no further change is expected. */
  readonly isSettled: boolean;
}

async function view(
  response: ServerResponse,
  id: string,
  { readers, uiURL, handlers }: ExecutionPageOptions,
): Promise<View> {
  if (!isExecutionId(id)) return notFound(id);
  const reader = readers.open(response);
  try {
    const execution = await reader.readWhole(id);
    if (execution === null) return notFound(id);
    const round = await readRound(reader, execution, handlers());
    const main = executionView(execution, round, uiURL);
    return { status: 200, title: execution.workflowName, main, isSettled: isSettled(execution, round) };
  } catch (error) {
    return { status: 503, title: 'Execution', main: engineAwayView(error), isSettled: false };
  }
}

function notFound(id: string): View {
  const main = html`<p class="notice bad" role="alert">
    The engine has no execution <code>${id}</code>: it may have been pruned, or it belongs to another engine.
    <a href="${listAddress({ id, since: 'all' })}">Search for it as a correlation or request id</a>
  </p>`;
  return { status: 404, title: 'Execution', main, isSettled: true };
}

function isSettled({ endTime }: WholeExecution, { first }: Round): boolean {
  const steps = stepsOf(first);
  if (endTime === 0 || steps.some(({ execution }) => execution?.endTime === 0)) return false;
  const isMissing = steps.some(({ execution, isExpected }) => execution === undefined && isExpected);
  return Date.now() - endTime >= (isMissing ? repairMs : settleMs);
}
