// Renders the dynamic part of the status page as HTML; the script of the page fetches it repeatedly.

import type { RouteKind } from '../../plugin-api/gateway-routes.ts';
import { type Failure, type RouteActivity } from './activity.ts';
import { latencyChart, rateChart } from './chart.ts';
import { formatAge, formatMs, formatRate } from './format.ts';
import { type Html, html } from './html.ts';
import type { Reading, Status } from './status.ts';

/** Options of {@link statusView}. */
export interface StatusViewOptions {
  /** Base URL of the engine's UI (`conductor.uiURL`); without it, execution ids are not links. */
  readonly uiURL: string | undefined;
  /** Kind of a route. Durations of workers' routes are not shown, because their polls are held on purpose. */
  readonly kindOf: (route: string) => RouteKind;
}

/** Renders the status. */
export function statusView(status: Status, options: StatusViewOptions): Html {
  return html`${health(status)}
    <section aria-label="Now">
      <h2>Now</h2>
      ${tiles(status)}
    </section>
    <section>
      <h2>Routes <small>last ten minutes</small></h2>
      ${routesTable(status.routes, options)}
    </section>
    <section>
      <h2>Engine, back ends, workers</h2>
      ${componentsTable(status)}
    </section>
    <section>
      <h2>Latest failures</h2>
      ${failuresTable(status.failures, options)}
    </section>`;
}

function health({ readiness: { ready, reasons, notices }, upSeconds }: Status): Html {
  const list = (found: Status['readiness']['reasons']) =>
    Object.entries(found).flatMap(([name, lines]) => lines.map((line) => html`<li><b>${name}</b> ${line}</li>`));
  const lines = [...list(reasons), ...list(notices)];
  return html`<p class="health ${ready ? 'ok' : 'wrong'}">
      <strong>${ready ? 'Ready' : 'Not ready'}</strong> <span>up ${formatAge(upSeconds)}</span>
    </p>
    ${
      lines.length === 0
        ? undefined
        : html`<ul class="reasons">
            ${lines}
          </ul>`
    }`;
}

function tiles({ inFlight, waitingClients, queued, heldPolls, engineErrors, unreconciled }: Status): Html {
  const tile = (name: string, value: number, isWrong = false) =>
    html`<div class="tile${isWrong ? ' wrong' : ''}">
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<dl class="tiles">
    ${[
      tile('requests in flight, without held polls', Math.max(0, inFlight - heldPolls)),
      tile('clients waiting for an execution', waitingClients),
      tile('requests in the queue', queued),
      tile('held polls', heldPolls),
      tile('engine errors since the start', engineErrors),
      tile('events unreconciled', unreconciled, unreconciled > 0),
    ]}
  </dl>`;
}

function routesTable(routes: readonly RouteActivity[], { kindOf }: StatusViewOptions): Html {
  if (routes.length === 0) return html`<p class="none">No request yet.</p>`;
  const ordered = routes.toSorted((a, b) => order(a.route, kindOf) - order(b.route, kindOf));
  const rows = ordered.map((activity) => {
    const { route, requestsPerSecond, requests, failures, p50, p99, steps } = activity;
    const held = kindOf(route) === 'workers';
    return html`<tr>
      <th scope="row">${route === 'none' ? 'not routed' : route}</th>
      <td data-label="rate">${formatRate(requestsPerSecond)}</td>
      <td data-label="requests">${requests}</td>
      <td data-label="failed" class="${failures > 0 ? 'wrong' : ''}">${failures}</td>
      <td data-label="p50">${held ? 'held' : formatMs(p50)}</td>
      <td data-label="p99">${held ? 'held' : formatMs(p99)}</td>
      <td class="drawing">${rateChart(steps)}</td>
      <td class="drawing">${held ? undefined : latencyChart(steps)}</td>
    </tr>`;
  });
  return html`<table class="routes">
    <thead>
      <tr>
        <th scope="col">route</th>
        <th scope="col">rate</th>
        <th scope="col">requests</th>
        <th scope="col">failed</th>
        <th scope="col">p50</th>
        <th scope="col">p99</th>
        <th scope="col">requests a second</th>
        <th scope="col">p50 and p99</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

/** Sort key of a route: clients' routes, then requests without a route, then tokens, then workers. */
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
    is: engineReasons.length === 0 ? 'well' : engineReasons.join('; '),
    isWrong: engineReasons.length > 0,
    what: 'health',
  });
  return html`<table class="components">
    <thead>
      <tr>
        <th scope="col">component</th>
        <th scope="col">what</th>
        <th scope="col">state</th>
      </tr>
    </thead>
    <tbody>
      ${[engine, ...breakers.map(breakerOf), ...workers.map(workerOf)]}
    </tbody>
  </table>`;
}

function row(name: string, { is, isWrong, what }: { is: string; isWrong: boolean; what: string }): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td data-label="what">${what}</td>
    <td data-label="state" class="${isWrong ? 'wrong' : 'ok'}">${is}</td>
  </tr>`;
}

function failuresTable(failures: readonly Failure[], { uiURL }: StatusViewOptions): Html {
  if (failures.length === 0) return html`<p class="none">None.</p>`;
  const rows = failures.map(({ at, route, method, status, problem, durationMs, executionId }) => {
    const time = new Date(at).toISOString();
    return html`<tr>
      <th scope="row"><time datetime="${time}">${time.slice(11, 19)}</time></th>
      <td data-label="request">${method} ${route}</td>
      <td data-label="response"><b>${status}</b> ${problem ?? 'the back end’s own'}</td>
      <td data-label="after">${formatMs(durationMs)}</td>
      <td data-label="execution">${execution(executionId, uiURL)}</td>
    </tr>`;
  });
  return html`<table class="failures">
    <thead>
      <tr>
        <th scope="col">time (UTC)</th>
        <th scope="col">request</th>
        <th scope="col">response</th>
        <th scope="col">after</th>
        <th scope="col">execution</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

function execution(id: string | undefined, uiURL: string | undefined): Html {
  if (id === undefined) return html`none was started`;
  if (uiURL === undefined) return html`<code>${id}</code>`;
  return html`<a href="${uiURL.replace(/\/+$/, '')}/execution/${encodeURIComponent(id)}"><code>${id}</code></a>`;
}
