// The frame of every page: document, navigation, find box and security headers. Pages work without their scripts.

import type { ServerResponse } from 'node:http';
import { type Html, html } from './html.ts';

/** Allows only the pages' own scripts and style sheets, and forbids framing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Header fields of the responses for all pages and their files. */
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Sends a page, or a file that the pages load. */
export function send(response: ServerResponse, body: string | Buffer, { type = 'text/html', status = 200 } = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(body);
}

/** Redirects to another page (303, RFC 9110 section 15.4.4). */
export function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { ...headers, location }).end();
}

/** How a page refreshes itself. */
export interface Refresh {
  /** URL of the HTML that replaces the content. */
  readonly from: string;
  readonly everyMs: number;
}

/** The content of a page. */
export interface Page {
  readonly title: string;
  /** URL of the current navigation entry. */
  readonly at?: string;
  readonly main: Html;
  readonly refresh?: Refresh | undefined;
  /** True for a page with charts. */
  readonly charts?: boolean;
}

const navigation: readonly (readonly [address: string, name: string])[] = [
  ['/', 'Overview'],
  ['/executions', 'Executions'],
  ['/executions?state=running', 'Running'],
  ['/executions?state=unsuccessful', 'Unsuccessful'],
];

/** Interval at which a page reloads when scripts are disabled, in seconds. */
const reloadSeconds = 10;

/** Returns a complete HTML document: the frame, the content, and references to the files that the page needs. */
export function documentOf({ title, at, main, refresh, charts = false }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} – Service Router</title>
        <link rel="icon" href="data:," />
        ${charts ? chartFiles : undefined}
        <link rel="stylesheet" href="/assets/style.css" />
        ${refresh === undefined ? undefined : html`<noscript><meta http-equiv="refresh" content="${reloadSeconds}" /></noscript>`}
        ${refresh === undefined ? undefined : html`<script src="/assets/live.js" type="module"></script>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <p class="brand">Service Router</p>
          <nav aria-label="Pages">${navigation.map(([address, name]) => navigationLink(address, name, at))}</nav>
          ${findBox}
        </header>
        <main id="main" tabindex="-1">
          <div class="title">
            <h1>${title}</h1>
            ${refresh === undefined ? undefined : liveControl}
          </div>
          <div id="view" ${refresh === undefined ? undefined : refreshData(refresh)}>${main}</div>
        </main>
        <footer><a href="/health/ready">/health/ready</a> <a href="/metrics">/metrics</a></footer>
      </body>
    </html> `.text;
}

const chartFiles = html`<link rel="stylesheet" href="/assets/uPlot.min.css" />
  <script src="/assets/uPlot.iife.min.js" defer></script>
  <script src="/assets/charts.js" type="module"></script>`;

const refreshData = ({ from, everyMs }: Refresh) => html`data-from="${from}" data-every="${everyMs}"`;

const liveControl = html`<p class="live">
  <span><span id="live" role="status">as loaded</span> <time id="renewed"></time></span>
  <button id="pause" type="button" aria-pressed="false" hidden>Pause</button>
</p>`;

const findBox = html`<form class="find" action="/executions/find" role="search">
  <label for="find">X-Execution-Id or X-Request-Id</label>
  <input
    id="find"
    name="id"
    placeholder="X-Execution-Id or X-Request-Id"
    required
    spellcheck="false"
    autocomplete="off"
    autocapitalize="off"
  />
  <button>Find</button>
</form>`;

function navigationLink(address: string, name: string, at: string | undefined): Html {
  return html`<a href="${address}" ${address === at ? html`aria-current="page"` : undefined}>${name}</a>`;
}
