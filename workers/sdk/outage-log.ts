// Says once that the router or the engine behind it is away, and once that it is back, however many calls notice.

import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Failures in a row before a call counts as failing: a keep-alive connection that was just closed is no outage. */
const failuresOfAnOutage = 2;

export class OutageLog {
  readonly #log: Logger;
  readonly #failures = new Map<string, number>();
  #awaySince: number | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A call failed. @param call names a kind of call, e.g. `poll movies_intake` */
  failed(call: string, reason: string): void {
    const failures = (this.#failures.get(call) ?? 0) + 1;
    this.#failures.set(call, failures);
    if (failures < failuresOfAnOutage || this.#awaySince !== null) return;
    this.#awaySince = performance.now();
    this.#log.warn({ call, reason }, 'the engine cannot be reached through the router; trying on');
  }

  /** A call succeeded. The outage is over when no kind of call fails any more. */
  succeeded(call: string): void {
    this.#failures.delete(call);
    if (this.#awaySince === null || this.#failures.size > 0) return;
    const ms = Math.round(performance.now() - this.#awaySince);
    this.#awaySince = null;
    this.#log.info({ ms }, 'the engine is back');
  }
}
