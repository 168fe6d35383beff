// Creates the error tracker when a DSN is configured. Without one, Sentry's SDK is not loaded.

import { fileURLToPath } from 'node:url';
import type { ErrorTracker } from './tracker.ts';

/** Options of {@link createErrorTracker}. */
export interface ErrorTrackerOptions {
  /** DSN of the Sentry project (`sentry.dsn`); when absent, nothing is reported. */
  dsn: string | undefined;
  /** Environment name in reports (`sentry.environment`). */
  environment: string;
  /** Name of the process: the tag `program` of every report. */
  program: string;
  /** Version of the product, when known. */
  release?: string | undefined;
}

/** Root of the sources. File names in stack frames are reported relative to it. */
const rootDir = fileURLToPath(new URL('../../..', import.meta.url));

const silentTracker: ErrorTracker = {
  report: () => undefined,
  close: async () => undefined,
};

/**
 * Returns the error tracker. Without a DSN, the tracker reports nothing.
 * @throws Error when the DSN is not valid; the message does not contain the DSN
 */
export async function createErrorTracker({ dsn, ...options }: ErrorTrackerOptions): Promise<ErrorTracker> {
  if (dsn === undefined || dsn === '') return silentTracker;
  const { startSentryTracker } = await import('./sentry-tracker.ts');
  return startSentryTracker({ ...options, dsn, rootDir });
}
