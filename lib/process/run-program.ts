// The lifecycle of a process: start, report readiness, reload on SIGHUP, stop on a signal, on an uncaught exception or
// when the launcher exits.

import { constants } from 'node:os';
import { createLog, errorFields, isLogLevel, type Logger } from '#lib/telemetry/logging/log.ts';
import { allocateYoung } from './allocate-young.ts';
import { stopInTime, type StoppableProgram } from './stop-in-time.ts';
import { stopRequestHandler } from './stop-requests.ts';

/** A started program. */
export interface RunningProgram extends StoppableProgram {
  /** How to reach the program, e.g. `{ url }`. Sent to the launcher and logged. */
  readonly ready: Readonly<Record<string, unknown>>;
  /**
   * Applies the current configuration files. Absent when configuration changes need a restart. Must not reject.
   * @param reason trigger of the reload, for the log
   */
  reload?(reason: string): Promise<void>;
}

/** The message that a program sends to its launcher over the IPC channel, if there is one. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly ready: Readonly<Record<string, unknown>>;
}

/**
 * Runs a program until SIGTERM, SIGINT, the exit of its launcher (the IPC channel closes) or an uncaught exception. A
 * second signal ends the process at once, except for the SIGTERM that the exit of the launcher causes, and for a
 * repetition of the same signal within a second. Exceptions during the stop are only logged. SIGHUP reloads the
 * configuration; a SIGHUP during startup takes effect once the program is ready.
 * Exit codes: 0 = stopped gracefully, 1 = could not start, had an uncaught exception, could not stop, or was ended
 * during the stop, 128 + number of the signal = ended by a signal during startup.
 * @param name name in logs
 * @param start starts the program. If it throws an error, the message of the error is printed unchanged, so the message
 *   must say what to do
 */
export async function runProgram(name: string, start: (log: Logger) => Promise<RunningProgram>): Promise<void> {
  allocateYoung();
  const log = createLog(name, initialLogLevel());
  const reloader = reloadOnSignal(log);
  const removeHandlers = exitDuringStartup(log);
  let running: RunningProgram;
  try {
    running = await start(log);
  } catch (error) {
    log.fatal(errorFields(error), 'cannot start');
    process.stderr.write(`${name} cannot start: ${(error as Error).message}\n`);
    process.exit(1);
  }
  stopOnRequest(log, running);
  removeHandlers();
  const message: ReadyMessage = { type: 'ready', ready: running.ready };
  process.send?.(message);
  log.info(running.ready, 'started');
  reloader.ready(running);
}

/**
 * Returns `LOG_LEVEL` if it is a level, otherwise `info`. If it is not a level, loading the configuration fails later
 * with a message about the value.
 */
function initialLogLevel(): string {
  const level = process.env['LOG_LEVEL'] ?? '';
  return isLogLevel(level) ? level : 'info';
}

/**
 * Ends the process on an uncaught exception, and on SIGTERM or SIGINT, with the exit code that shells use for the
 * signal. Without handlers, the kernel would ignore these signals if the process is the first process of a container.
 * @returns a function that removes the handlers
 */
function exitDuringStartup(log: Logger): () => void {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  const exit = (signal: (typeof signals)[number]) => {
    log.info({ reason: signal }, 'stopped before the program was ready');
    process.exit(128 + constants.signals[signal]);
  };
  const fail = (error: unknown) => {
    log.fatal(exceptionFields(error), 'uncaught exception');
    process.exit(1);
  };
  for (const signal of signals) process.on(signal, exit);
  process.on('uncaughtException', fail);
  return () => {
    for (const signal of signals) process.off(signal, exit);
    process.off('uncaughtException', fail);
  };
}

/** Returns an exception as log fields, with its stack. Anything can be thrown, even null. */
function exceptionFields(error: unknown): Record<string, unknown> {
  return { ...errorFields(error), stack: (error as Error | null | undefined)?.stack };
}

/** Handles SIGHUP, whose default action would end the process. */
function reloadOnSignal(log: Logger): { ready(running: RunningProgram): void } {
  let running: RunningProgram | undefined;
  let wasSignalled = false;
  const reload = () => {
    wasSignalled = true;
    if (running === undefined) return;
    if (running.reload !== undefined) void running.reload('SIGHUP');
    else log.warn('SIGHUP ignored: this program reads its configuration only at startup');
  };
  process.on('SIGHUP', reload);
  return {
    ready(started) {
      running = started;
      if (wasSignalled) reload();
    },
  };
}

/** Time after the exit of the launcher in which a SIGTERM does not count, in milliseconds. */
const sigtermOfLauncherMs = 2_000;

/** Stops the program on a signal, on the exit of the launcher and on an uncaught exception. */
function stopOnRequest(log: Logger, running: RunningProgram): void {
  let isStopping = false;
  let launcherExitedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  const stop = (reason: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ reason }, 'stopping');
    stopInTime(running).then(
      () => process.exit(hasFailed ? 1 : 0),
      (error: unknown) => {
        log.error(errorFields(error), 'graceful stop failed');
        process.exit(1);
      },
    );
  };
  const end = (reason: string) => {
    log.warn({ reason }, 'second request to stop: exiting immediately');
    process.exit(1);
  };
  const request = stopRequestHandler({ stop, end });
  process.on('SIGTERM', () => {
    // The exit of the launcher also causes a SIGTERM (dev/setup/exit-with-parent.*).
    if (performance.now() - launcherExitedAt > sigtermOfLauncherMs) request('SIGTERM');
  });
  process.on('SIGINT', () => request('SIGINT'));
  process.on('disconnect', () => {
    launcherExitedAt = performance.now();
    if (!isStopping) request('the launcher has exited');
  });
  process.on('uncaughtException', (error: unknown) => {
    // Only the first exception is logged at level fatal: such a line blocks the process until the log is flushed, and
    // further exceptions must not delay the drain.
    log[hasFailed ? 'error' : 'fatal'](exceptionFields(error), 'uncaught exception');
    hasFailed = true;
    // This is not a request: the first signal during this stop, such as one from a rolling update, must not cut the
    // stop short.
    stop('an uncaught exception');
  });
}
