// Runs prune rounds in a loop: the first soon after the start, then one per interval.

import { startIntervalLoop } from '#lib/process/interval-loop.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { PruneReport } from './prune.ts';

/** Options of {@link startPruneLoop}: the round to run, and how often. */
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

/**
 * Longest delay before the first round and before a retry, in milliseconds. The first round is delayed because other
 * programs that start at the same time need the engine more.
 */
const initialDelayMs = 60_000;

/** Starts the loop and returns at once. A failed round is logged and retried after at most a minute. */
export function startPruneLoop({ round, intervalMs, log }: PruneLoopOptions): PruneLoop {
  let failure: string | undefined;
  const retryDelayMs = Math.min(initialDelayMs, intervalMs);
  const run = async (signal: AbortSignal): Promise<number | undefined> => {
    const startedAt = performance.now();
    try {
      const { failure: error, ...report } = await round(signal);
      log.info({ ...report, durationMs: Math.round(performance.now() - startedAt) }, 'pruned');
      if (error !== undefined) throw error;
      failure = undefined;
      return undefined;
    } catch (error) {
      failure = (error as Error).message;
      log.warn(errorFields(error), 'cannot prune now');
      return retryDelayMs;
    }
  };
  const loop = startIntervalLoop({ run, intervalMs, initialDelayMs: retryDelayMs });
  return { failure: () => failure, stop: () => loop.stop() };
}
