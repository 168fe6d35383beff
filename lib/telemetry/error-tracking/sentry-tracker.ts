// The tracker behind a DSN: a Sentry client of its own, without the integrations that watch and patch the process.

import { defaultStackParser, linkedErrorsIntegration, makeNodeTransport, NodeClient, Scope } from '@sentry/node';
import { allowedEvent } from './allowed-event.ts';
import type { ErrorTracker } from './tracker.ts';

export interface SentryTrackerOptions {
  dsn: string;
  environment: string;
  program: string;
  release?: string | undefined;
  rootDir: string;
}

/**
 * `Sentry.init` is not used: it would set up OpenTelemetry and hook into http, fetch and the console. This client
 * sees what is reported to it and nothing else.
 * @throws Error when the DSN cannot be used
 */
export function startSentryTracker(options: SentryTrackerOptions): ErrorTracker {
  const { dsn, environment, program, release, rootDir } = options;
  if (!isDsn(dsn)) throw new Error('sentry.dsn is not a valid DSN');
  const client = new NodeClient({
    dsn,
    environment,
    ...(release === undefined ? {} : { release }),
    transport: makeNodeTransport,
    stackParser: defaultStackParser,
    // Only walks the chain of causes of what is reported.
    integrations: [linkedErrorsIntegration()],
    // The defaults collect all of it, and let Sentry note the address a report came from.
    dataCollection: { userInfo: false, cookies: false, httpHeaders: false, httpBodies: [], urlQueryParams: false },
    sendClientReports: false,
    includeServerName: false,
    maxBreadcrumbs: 0,
    beforeSend: (event) => allowedEvent(event, { program, rootDir }),
  });
  client.init();
  return {
    report(error, fields = {}) {
      const scope = new Scope();
      scope.setClient(client);
      scope.setTags(fields);
      scope.captureException(error);
    },
    async close(timeoutMs) {
      await client.close(timeoutMs);
    },
  };
}

/** `http(s)://<public key>@<host>/<path>/<project id>`; checked here because the SDK prints a DSN it cannot use. */
function isDsn(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, pathname } = new URL(text);
  return /^https?:$/.test(protocol) && /^\w+$/.test(username) && /\/\d+$/.test(pathname);
}
