// HTTP handlers of the status page: document, style sheet and script. The page also works without its script.

import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { OperationsRoutes } from '../operations-server.ts';
import { html } from './html.ts';
import type { Status } from './status.ts';
import { statusView, type StatusViewOptions } from './status-view.ts';

/** Allows only the page's own script and style sheet, and forbids framing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Interval at which the page reloads without the script, in seconds. */
const refreshSeconds = 10;

/** Returns the handlers by path. @param gather collects the values for the page */
export function createStatusRoutes(gather: () => Promise<Status>, options: StatusViewOptions): OperationsRoutes {
  const file = (name: string) => readFileSync(new URL(`page/${name}`, import.meta.url));
  const [script, style] = [file('status.js'), file('status.css')];
  const send = (response: ServerResponse, type: string, body: string | Buffer) => {
    response.writeHead(200, { ...headers, 'content-type': `${type}; charset=utf-8` }).end(body);
  };
  const page = async (response: ServerResponse) => send(response, 'text/html', document(await gather(), options));
  return {
    '/': page,
    '/status': page,
    '/status/view': async (response) => send(response, 'text/html', statusView(await gather(), options).text),
    '/status/status.js': async (response) => send(response, 'text/javascript', script),
    '/status/status.css': async (response) => send(response, 'text/css', style),
  };
}

function document(status: Status, options: StatusViewOptions): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Service Router: status</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/status/status.css" />
        <noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>
        <script src="/status/status.js" defer></script>
      </head>
      <body>
        <header>
          <h1>Service Router</h1>
          <p id="live" role="status">this router, at the time of loading</p>
        </header>
        <main id="view">${statusView(status, options)}</main>
        <footer><a href="/health/ready">/health/ready</a> <a href="/metrics">/metrics</a></footer>
      </body>
    </html> `.text;
}
