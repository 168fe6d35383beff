// Prunes again and again: the first round soon after the start, then one in each interval. Start and stop.

import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { PruneReport } from './prune.ts';

export interface PruneLoopOptions {
  /** One round. */
  readonly round: (signal: AbortSignal) => Promise<PruneReport>;
  /** Pause between the beginnings of two rounds, in milliseconds. */
  readonly intervalMs: number;
  readonly log: Logger;
}

export interface PruneLoop {
  /** Why the last round could not be done; undefined after one that was, and before the first. */
  failure(): string | undefined;
  /** No round begins any more; resolves when the one that runs has stopped behind its batch. */
  stop(): Promise<void>;
}

/** Whatever else starts with the stack has its first minute for itself; a round that failed is tried again as soon. */
const firstMs = 60_000;

export function startPruneLoop({ round, intervalMs, log }: PruneLoopOptions): PruneLoop {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let failure: string | undefined;
  const soonMs = Math.min(firstMs, intervalMs);
  const schedule = (delayMs: number) => {
    if (!stopping.signal.aborted) timer = setTimeout(() => (running = runOne()), delayMs);
  };
  const runOne = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      log.info({ ...(await round(stopping.signal)), durationMs: Math.round(performance.now() - startedAt) }, 'pruned');
      failure = undefined;
      schedule(Math.max(0, intervalMs - (performance.now() - startedAt)));
    } catch (error) {
      failure = (error as Error).message;
      log.warn(errorFields(error), 'cannot prune now');
      schedule(soonMs);
    }
  };
  schedule(soonMs);
  return {
    failure: () => failure,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
