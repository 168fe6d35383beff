// Keeps a worker process running while its gateway has no task type to serve, as is the case for a new gateway.

import type { RunningProgram } from '#lib/process/run-program.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';

/** The longest interval of a timer, in milliseconds. */
const longestInterval = 2 ** 31 - 1;

/** Logs a warning that says what to do, and keeps the process running until `stop`. */
export function stayIdle(log: Logger): RunningProgram {
  log.warn(
    'no task type to serve: set backEnd.<name>.url for a plain back end, or add a worker to workers/index.ts, and restart this process',
  );
  // Nothing else keeps this process running: without the timer, it would end and be restarted again and again.
  const timer = setInterval(() => {}, longestInterval);
  return { ready: { taskTypes: [] }, stop: async () => clearInterval(timer) };
}
