// Starts the telemetry of a program (error tracker and tracer), which is kept across configuration reloads.

import type { Config } from '../config/schema.ts';
import { createErrorTracker } from './error-tracking/error-tracker.ts';
import type { Logger } from './logging/log.ts';
import { createTracer } from './tracing/create-tracer.ts';
import type { Tracer } from './tracing/tracer.ts';

/** Maximum time for which unsent reports and spans delay the exit of the program, in milliseconds. */
const closeTimeoutMs = 2_000;

/** The tracer and the error tracker of a running program. */
export interface ProgramTelemetry {
  /** Undefined while tracing is off. */
  readonly tracer: Tracer | undefined;
  /** Reports an unexpected error to the error tracker; does nothing without one. Never pass personal data. */
  reportError(error: unknown, fields: Record<string, string>): void;
  /** Sends the queued reports and spans, for at most 2 seconds. */
  close(): Promise<void>;
}

/**
 * Starts the telemetry that the configuration enables.
 * @throws Error when the DSN or a header of the exporter is not valid
 */
export async function startTelemetry(program: string, config: Config, log: Logger): Promise<ProgramTelemetry> {
  const errors = await createErrorTracker({
    dsn: config['sentry.dsn'],
    environment: config['sentry.environment'],
    program,
  });
  const tracer = await createTracer({ config, program, log });
  return {
    tracer,
    reportError: (error, fields) => errors.report(error, fields),
    close: async () => void (await Promise.all([errors.close(closeTimeoutMs), tracer?.close(closeTimeoutMs)])),
  };
}
