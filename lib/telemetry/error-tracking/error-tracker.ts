// Reports errors to an error tracker when a DSN is configured; without one, its SDK is not even loaded.

import { fileURLToPath } from 'node:url';
import type { ErrorTracker } from './tracker.ts';

export interface ErrorTrackerOptions {
  /** Where to report, with the public key of the project (`sentry.dsn`); absent = nothing is reported. */
  dsn: string | undefined;
  /** Environment name in reports (`sentry.environment`). */
  environment: string;
  /** Name of the process: the tag `program` of every report. */
  program: string;
  /** Version of the product, when known. */
  release?: string | undefined;
}

/** Where our sources begin: stack frames are reported relative to it. */
const rootDir = fileURLToPath(new URL('../../..', import.meta.url));

const silentTracker: ErrorTracker = {
  report: () => undefined,
  close: async () => undefined,
};

/** @throws Error when the DSN cannot be used; it does not repeat the DSN */
export async function createErrorTracker({ dsn, ...options }: ErrorTrackerOptions): Promise<ErrorTracker> {
  if (dsn === undefined || dsn === '') return silentTracker;
  const { startSentryTracker } = await import('./sentry-tracker.ts');
  return startSentryTracker({ ...options, dsn, rootDir });
}
