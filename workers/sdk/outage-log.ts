// Logs one line when the router or the engine becomes unavailable and one when it recovers, however many calls fail.

import type { Logger } from '#lib/telemetry/logging/log.ts';

/**
 * Consecutive failures of one kind of call that count as an outage. One failure may be a closed keep-alive connection.
 */
const outageThreshold = 2;

/** Tracks which kinds of calls fail, and logs the start and end of an outage. */
export class OutageLog {
  readonly #log: Logger;
  readonly #failures = new Map<string, number>();
  #outageSince: number | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Records a failed call. @param call the kind of call, e.g. `poll movies_intake` */
  failed(call: string, reason: string): void {
    const failures = (this.#failures.get(call) ?? 0) + 1;
    this.#failures.set(call, failures);
    if (failures < outageThreshold || this.#outageSince !== null) return;
    this.#outageSince = performance.now();
    this.#log.warn({ call, reason }, 'the engine cannot be reached through the router; retrying');
  }

  /** Records a successful call. The outage ends when every kind of call has succeeded again. */
  succeeded(call: string): void {
    this.#failures.delete(call);
    if (this.#outageSince === null || this.#failures.size > 0) return;
    const ms = Math.round(performance.now() - this.#outageSince);
    this.#outageSince = null;
    this.#log.info({ ms }, 'the engine is back');
  }
}
