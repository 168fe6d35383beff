// Limits the duration of the graceful stop of a program.

import { withDeadline } from './deadline.ts';

/** A program that can be stopped. */
export interface StoppableProgram {
  /** Stops the program gracefully. Called once. */
  stop(): Promise<void>;
  /** Returns the maximum time for which `stop` waits for work in flight, in milliseconds. Default: 0. */
  drainMs?(): number;
}

/**
 * Time for everything except the drain, in milliseconds. It is longer than stops usually take: each component of the
 * router may take 60 s (gateway/snapshots/stops.ts).
 */
const besidesDrainMs = 300_000;

/**
 * Stops a program gracefully, within a time limit. Without the limit, a process could hang after an uncaught exception:
 * what the stop waits for may never happen, and no supervisor has asked for the stop, so none would kill the process.
 * @throws Error when the stop fails, or has not ended five minutes after the longest drain
 */
export async function stopInTime(program: StoppableProgram): Promise<void> {
  const drainMs = program.drainMs?.() ?? 0;
  await withDeadline('the graceful stop', drainMs + besidesDrainMs, program.stop());
}
