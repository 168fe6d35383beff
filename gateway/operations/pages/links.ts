// Renders times and links to executions for the pages.

import { type Html, html } from './html.ts';

/** Returns a link to the page of an execution. */
export function executionLink(executionId: string): Html {
  return html`<a class="id" href="/executions/${encodeURIComponent(executionId)}"><code>${executionId}</code></a>`;
}

/** Returns a link to an execution in the engine's UI; undefined without `conductor.uiURL`. */
export function engineUiLink(executionId: string, uiURL: string | undefined): Html | undefined {
  if (uiURL === undefined) return undefined;
  const address = `${uiURL.replace(/\/+$/, '')}/execution/${encodeURIComponent(executionId)}`;
  return html`<a href="${address}" rel="noreferrer">Open in the Conductor UI</a>`;
}

/** Renders a time (milliseconds since 1970) in UTC. The date is left out if it is today. */
export function timeOf(ms: number, now = Date.now()): Html {
  const iso = new Date(ms).toISOString();
  const isToday = iso.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  const shown = isToday ? iso.slice(11, 19) : iso.slice(0, 19).replace('T', ' ');
  return html`<time datetime="${iso}">${shown}</time>`;
}
