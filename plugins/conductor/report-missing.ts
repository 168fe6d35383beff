// Logs, once after the start, which definitions are not registered and which API calls the engine does not support.

import type { Logger } from '#lib/telemetry/logging/log.ts';

/** Time allowed for registering definitions while the router and the engine start, in milliseconds. */
const graceMs = 10_000;
const checkEveryMs = 500;

/** A running check. */
export interface MissingReport {
  /** Ends the check without a log line. */
  stop(): void;
}

/**
 * Checks repeatedly until nothing is missing. Once {@link graceMs} have passed since the engine's first response, the
 * next check to which the engine responds logs the items that are still missing as errors, and is the last one.
 * @param findMissing called at each check, since another configuration may be active by then; rejects while the engine
 *   does not respond
 */
export function reportMissing(findMissing: () => Promise<readonly string[]>, log: Logger): MissingReport {
  let until = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const check = async () => {
    const missing = await findMissing().catch(() => undefined);
    if (isStopped || missing?.length === 0) return;
    if (missing !== undefined) until = Math.min(until, performance.now() + graceMs);
    if (missing !== undefined && performance.now() >= until) return missing.forEach((reason) => log.error(reason));
    timer = setTimeout(() => void check(), checkEveryMs).unref();
  };
  void check();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
