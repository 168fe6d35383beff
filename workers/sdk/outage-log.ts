// Logs one line when the router, the engine or a task type becomes unavailable, and one line when it is available
// again, however many calls fail.

import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Number of consecutive failures that count as an outage. A single failure may be a closed keep-alive connection. */
const outageThreshold = 2;

/** Counts failed calls, and logs the start and the end of each outage. */
export class OutageLog {
  readonly #log: Logger;
  readonly #refused = new Set<string>();
  #failures = 0;
  #outageSince: number | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Records a failed call. */
  failed(reason: string): void {
    this.#failures += 1;
    if (this.#failures < outageThreshold || this.#outageSince !== null) return;
    this.#outageSince = performance.now();
    this.#log.warn({ reason }, 'the engine cannot be reached through the router; retrying');
  }

  /** Records a successful call, which ends an outage. */
  succeeded(): void {
    this.#failures = 0;
    if (this.#outageSince === null) return;
    const ms = Math.round(performance.now() - this.#outageSince);
    this.#outageSince = null;
    this.#log.info({ ms }, 'the engine is back');
  }

  /** Records whether the router refuses to give out tasks of a type, because of the limits of the workers' client. */
  recordAccess(taskType: string, isRefused: boolean): void {
    if (isRefused === this.#refused.has(taskType)) return;
    if (isRefused) {
      this.#refused.add(taskType);
      this.#log.error(
        { taskType },
        "the router gives the workers' client no tasks of this type; retrying (check client.<client>.taskTypes, client.<client>.domains, and that its token has the scope conductor_worker)",
      );
    } else {
      this.#refused.delete(taskType);
      this.#log.info({ taskType }, "the router gives the workers' client tasks of this type again");
    }
  }
}
