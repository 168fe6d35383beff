// Renders the part of the overview that refreshes itself.

import type { RouteKind } from '../../plugin-api/gateway-routes.ts';
import { type Failure, type RouteActivity } from './activity.ts';
import { formatAge, formatMs, formatRate } from '../pages/format.ts';
import { type Html, html } from '../pages/html.ts';
import { executionLink, timeOf } from '../pages/links.ts';
import { table } from '../pages/table.ts';
import { listAddress } from '../executions/list-filter.ts';
import type { Reading, Status } from './status.ts';

/** Options of {@link statusView}. */
export interface StatusViewOptions {
  /** Returns the kind of a route. Durations of worker routes are not shown, because polls are held on purpose. */
  readonly kindOf: (route: string) => RouteKind;
  /** Names of the routes that start executions. */
  readonly executionRoutes: readonly string[];
  /** Route that the charts show; empty for all client routes. */
  readonly chartedRoute: string;
}

/** Renders the status. */
export function statusView(status: Status, options: StatusViewOptions): Html {
  return html`${health(status)} ${charts(options.chartedRoute)}
    <section>
      <h2>
        Failures
        <small>5xx responses since the router started, grouped by request and problem: the 20 latest groups</small>
      </h2>
      ${failuresTable(status.failures)}
    </section>
    <section>
      <h2>Routes <small>last ten minutes</small></h2>
      ${routesTable(status.routes, options)}
    </section>
    <section>
      <h2>Now</h2>
      ${tiles(status)}
    </section>
    <section>
      <h2>Engine, back ends, workers</h2>
      ${componentsTable(status)}
    </section>`;
}

/** Renders the health as a single element: live.js pairs elements by position, so their number must not change. */
function health({ readiness: { ready, reasons, notices }, upSeconds }: Status): Html {
  const list = (found: Status['readiness']['reasons']) =>
    Object.entries(found).flatMap(([name, lines]) => lines.map((line) => html`<li><b>${name}</b> ${line}</li>`));
  const lines = [...list(reasons), ...list(notices)];
  return html`<div>
    <p class="health ${ready ? 'ok' : 'wrong'}">
      <strong>${ready ? 'Ready' : 'Not ready'}</strong> <span>up ${formatAge(upSeconds)}</span>
    </p>
    ${
      lines.length === 0
        ? undefined
        : html`<ul class="reasons">
            ${lines}
          </ul>`
    }
  </div>`;
}

/** Renders empty charts. A script draws their content, so they are not replaced when the page refreshes itself. */
function charts(route: string): Html {
  return html`<section data-keep>
    <h2>
      ${route === '' ? 'Client routes' : `Route ${route}`} <small>last ten minutes</small>
      ${route === '' ? undefined : html`<a href="/">all client routes</a>`}
    </h2>
    <div class="charts" data-route="${route}">
      <figure data-chart="requests"><figcaption>Requests per second</figcaption></figure>
      <figure data-chart="durations"><figcaption>Duration, in milliseconds</figcaption></figure>
    </div>
    <noscript><p class="none">The charts need JavaScript. See the table of routes instead.</p></noscript>
  </section>`;
}

function tiles({ inFlight, waitingClients, queued, heldPolls, engineErrors, unreconciled }: Status): Html {
  const tile = (name: string, value: number, isWrong = false) =>
    html`<div class="tile${isWrong ? ' wrong' : ''}">
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<dl class="tiles">
    ${[
      tile('requests in flight, not counting held polls', Math.max(0, inFlight - heldPolls)),
      tile('executions whose end is awaited', waitingClients),
      tile('requests in the queue', queued),
      tile('held polls', heldPolls),
      tile('engine errors since the start', engineErrors),
      tile('unreconciled events', unreconciled, unreconciled > 0),
    ]}
  </dl>`;
}

function routesTable(routes: readonly RouteActivity[], { kindOf, executionRoutes }: StatusViewOptions): Html {
  if (routes.length === 0) return html`<p class="none">No requests yet.</p>`;
  const ordered = routes.toSorted(
    (a, b) => order(a.route, kindOf) - order(b.route, kindOf) || a.route.localeCompare(b.route),
  );
  const rows = ordered.map((activity) => {
    const { route, requestsPerSecond, requests, failures, p50, p99 } = activity;
    const held = kindOf(route) === 'workers';
    return html`<tr>
      <th scope="row">
        ${route === 'none' ? 'not routed' : html`<a href="/?route=${encodeURIComponent(route)}">${route}</a>`}
      </th>
      <td data-label="rate">${formatRate(requestsPerSecond)}</td>
      <td data-label="requests">${requests}</td>
      <td data-label="failed" class="${failures > 0 ? 'wrong' : ''}">${failures}</td>
      <td data-label="p50">${held ? 'held' : formatMs(p50)}</td>
      <td data-label="p99">${held ? 'held' : formatMs(p99)}</td>
      <td class="wide">${executionRoutes.includes(route) ? executionsOf(route) : undefined}</td>
    </tr>`;
  });
  return table('routes', ['route', 'rate', 'requests', 'failed', 'p50', 'p99', 'executions'], rows);
}

function executionsOf(route: string): Html {
  return html`<a href="${listAddress({ route })}">executions</a>
    <a href="${listAddress({ route, state: 'unsuccessful' })}">unsuccessful</a>`;
}

/** Sort key of a route: client routes, then requests without a route, then token routes, then worker routes. */
function order(route: string, kindOf: StatusViewOptions['kindOf']): number {
  return ['clients', 'none', 'tokens', 'workers'].indexOf(route === 'none' ? 'none' : kindOf(route));
}

const breakerStates = ['closed', 'half-open', 'open'];
/** A worker counts as inactive after this many seconds without a poll on this router. */
const inactiveSeconds = 60;

function componentsTable({ readiness, breakers, workers }: Status): Html {
  const engineReasons = ['engine', 'engine-breaker'].flatMap((name) => readiness.reasons[name] ?? []);
  const breakerOf = ({ name, value }: Reading) =>
    row(name, { is: breakerStates[value] ?? '', isWrong: value > 0, what: 'circuit breaker' });
  const workerOf = ({ name, value }: Reading) =>
    Number.isFinite(value)
      ? row(name, { is: `polled ${formatAge(value)} ago`, isWrong: value > inactiveSeconds, what: 'workers' })
      : row(name, { is: 'never polled here', isWrong: true, what: 'workers' });
  const engine = row('engine', {
    is: engineReasons.length === 0 ? 'healthy' : engineReasons.join('; '),
    isWrong: engineReasons.length > 0,
    what: 'health',
  });
  return table('components', ['component', 'state'], [engine, ...breakers.map(breakerOf), ...workers.map(workerOf)]);
}

function row(name: string, { is, isWrong, what }: { is: string; isWrong: boolean; what: string }): Html {
  return html`<tr>
    <th scope="row">${name} <small>${what}</small></th>
    <td class="${isWrong ? 'wrong' : 'ok'}">${is}</td>
  </tr>`;
}

function failuresTable(failures: readonly Failure[]): Html {
  if (failures.length === 0) return html`<p class="none">Nothing has failed.</p>`;
  const rows = failures.map(({ route, method, status, problem, count, firstAt, lastAt, executionId }) => {
    return html`<tr>
      <th scope="row">${method} ${route}</th>
      <td data-label="response"><b>${status}</b> ${problem ?? 'from the back end'}</td>
      <td data-label="count" class="wrong">${count}</td>
      <td data-label="since">${timeOf(firstAt)}</td>
      <td data-label="last">${timeOf(lastAt)}</td>
      <td data-label="latest execution" class="wide">
        ${executionId === undefined ? 'none was started' : executionLink(executionId)}
      </td>
    </tr>`;
  });
  return table('failures', ['request', 'response', 'count', 'since (UTC)', 'last (UTC)', 'latest execution'], rows);
}
