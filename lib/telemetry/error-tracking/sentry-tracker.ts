// The Sentry error tracker: an isolated client without the integrations that observe and patch the process.

import { defaultStackParser, linkedErrorsIntegration, makeNodeTransport, NodeClient, Scope } from '@sentry/node';
import { allowedEvent } from './allowed-event.ts';
import type { ErrorTracker } from './tracker.ts';

/** Options of {@link startSentryTracker}; see ErrorTrackerOptions. */
export interface SentryTrackerOptions {
  dsn: string;
  environment: string;
  program: string;
  release?: string | undefined;
  rootDir: string;
}

/**
 * Returns an error tracker. `Sentry.init` is not used, because it sets up OpenTelemetry and patches http, fetch and the
 * console. This client receives only the errors that are reported to it.
 * @throws Error when the DSN is not valid
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
    // This integration only follows the chain of causes of a reported error.
    integrations: [linkedErrorsIntegration()],
    // By default the SDK collects all of these, and Sentry stores the sender's IP address.
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

/**
 * Returns whether a string has the form `http(s)://<public key>@<host>/<path>/<project id>`. This is checked here because
 * the SDK would print an invalid DSN.
 */
function isDsn(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, pathname } = new URL(text);
  return /^https?:$/.test(protocol) && /^\w+$/.test(username) && /\/\d+$/.test(pathname);
}
