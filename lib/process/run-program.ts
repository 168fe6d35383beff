// The life of each of our processes: start, say that it is ready, stop on a signal, never outlive its launcher.

import { createLog, errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { allocateYoung } from './allocate-young.ts';

/** A started program. */
export interface RunningProgram {
  /** What others need to reach it, e.g. `{ url }`: sent to the launcher and logged. */
  readonly ready: Readonly<Record<string, unknown>>;
  /**
   * Takes up what its configuration files say now. Absent: only a restart does. Must not reject.
   * @param reason what asks for it, for the log
   */
  reload?(reason: string): Promise<void>;
  /** Ends it cleanly; called once. */
  stop(): Promise<void>;
}

/** The message a program sends its launcher over the IPC channel, when it has one. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly ready: Readonly<Record<string, unknown>>;
}

/**
 * Runs a program until SIGTERM, SIGINT or the end of its launcher (the IPC channel closes). A second signal ends it
 * at once. SIGHUP reloads its configuration, and ends no program: one that comes before it is ready is heeded then. Exit codes: 0 stopped cleanly, 1 could not start or failed.
 * @param name name in logs
 * @param start starts it; what it throws is printed as it is: make it a sentence that says what to do
 */
export async function runProgram(name: string, start: (log: Logger) => Promise<RunningProgram>): Promise<void> {
  allocateYoung();
  const log = createLog(name, process.env['LOG_LEVEL'] ?? 'info');
  process.on('uncaughtException', (error) => {
    log.fatal({ ...errorFields(error), stack: error.stack }, 'an error nobody caught');
    process.exit(1);
  });
  const hangUp = reloadOnSignal(log);
  let running: RunningProgram;
  try {
    running = await start(log);
  } catch (error) {
    log.fatal(errorFields(error), 'cannot start');
    process.stderr.write(`${name} cannot start: ${(error as Error).message}\n`);
    process.exit(1);
  }
  stopOnSignals(log, running);
  const message: ReadyMessage = { type: 'ready', ready: running.ready };
  process.send?.(message);
  log.info(running.ready, 'started');
  hangUp.ready(running);
}

/** By default SIGHUP would end the process. */
function reloadOnSignal(log: Logger): { ready(running: RunningProgram): void } {
  let running: RunningProgram | undefined;
  let hasCome = false;
  const reload = () => {
    hasCome = true;
    if (running === undefined) return;
    if (running.reload !== undefined) void running.reload('SIGHUP');
    else log.warn('SIGHUP: this program takes up its configuration only when it is started');
  };
  process.on('SIGHUP', reload);
  return {
    ready(started) {
      running = started;
      if (hasCome) reload();
    },
  };
}

function stopOnSignals(log: Logger, running: RunningProgram): void {
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) {
      log.warn({ reason }, 'stopped at once');
      process.exit(1);
    }
    stopping = true;
    log.info({ reason }, 'stopping');
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error(errorFields(error), 'did not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  process.on('disconnect', () => stop('the launcher is gone'));
}
