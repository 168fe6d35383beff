// The loop that prunes: a first round soon after the start, then one round per interval.

import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { PruneReport } from './prune.ts';

/** Options of the loop. */
export interface PruneLoopOptions {
  /** Runs one round until it is complete or `signal` aborts. */
  readonly round: (signal: AbortSignal) => Promise<PruneReport>;
  /** Time between the starts of two rounds, in milliseconds. */
  readonly intervalMs: number;
  readonly log: Logger;
}

/** A running loop. */
export interface PruneLoop {
  /** Returns the error message of the last round; undefined when it succeeded and before the first round. */
  failure(): string | undefined;
  /** Stops the loop; resolves when the current round has finished its batch. */
  stop(): Promise<void>;
}

/** Delay of the first round and of a retry, in milliseconds. It leaves the engine to other programs after a start. */
const initialDelayMs = 60_000;

/** Starts the loop. A failed round is logged and retried after at most a minute. */
export function startPruneLoop({ round, intervalMs, log }: PruneLoopOptions): PruneLoop {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let failure: string | undefined;
  const retryDelayMs = Math.min(initialDelayMs, intervalMs);
  const schedule = (delayMs: number) => {
    if (!stopping.signal.aborted) timer = setTimeout(() => (running = runRound()), delayMs);
  };
  const runRound = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      log.info({ ...(await round(stopping.signal)), durationMs: Math.round(performance.now() - startedAt) }, 'pruned');
      failure = undefined;
      schedule(Math.max(0, intervalMs - (performance.now() - startedAt)));
    } catch (error) {
      failure = (error as Error).message;
      log.warn(errorFields(error), 'cannot prune now');
      schedule(retryDelayMs);
    }
  };
  schedule(retryDelayMs);
  return {
    failure: () => failure,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
