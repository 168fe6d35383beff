// HTTP handlers for the overview: the page, its self-refreshing part, and the values of its charts.

import type { OperationsRoutes } from '../operations-server.ts';
import { documentOf, send } from '../pages/page.ts';
import { type Activity, stepMs } from './activity.ts';
import type { Status } from './status.ts';
import { statusView, type StatusViewOptions } from './status-view.ts';

/** Options of {@link createStatusRoutes}. */
export interface StatusRoutesOptions extends Pick<StatusViewOptions, 'kindOf'> {
  /** Returns the names of the routes that start executions. */
  readonly executionRoutes: () => readonly string[];
  /** Collects the values of the page. */
  readonly gather: () => Promise<Status>;
  readonly activity: Activity;
}

/** Interval at which the page refreshes itself, in milliseconds. */
const refreshMs = 2_000;

/** Returns the handlers by path. `?route=` limits the charts to one route. */
export function createStatusRoutes(options: StatusRoutesOptions): OperationsRoutes {
  const { gather, activity, kindOf, executionRoutes } = options;
  const routeIn = (query: URLSearchParams) => query.get('route') ?? '';
  const view = async (chartedRoute: string) =>
    statusView(await gather(), { kindOf, chartedRoute, executionRoutes: executionRoutes() });
  const page: OperationsRoutes[string] = async (response, { query }) => {
    const chartedRoute = routeIn(query);
    const main = await view(chartedRoute);
    const from = `/status/view?${new URLSearchParams({ route: chartedRoute })}`;
    const refresh = { from, everyMs: refreshMs };
    send(response, documentOf({ title: 'Overview', at: '/', main, refresh, charts: true }));
  };
  return {
    '/': page,
    '/status': page,
    '/status/view': async (response, { query }) => send(response, (await view(routeIn(query))).text),
    '/status/activity': async (response, { query }) => {
      const only = routeIn(query);
      const isClients = (route: string) => route !== 'none' && kindOf(route) === 'clients';
      const steps = activity.steps((route) => (only === '' ? isClients(route) : route === only));
      send(response, JSON.stringify({ stepMs, steps }), { type: 'application/json' });
    },
  };
}
