// Logs, once after the start, the workflow versions of the gateway configuration that are not registered.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { missingFrom } from './readiness.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';

/** Time for registering definitions while the router and the engine start, in milliseconds. */
const graceMs = 10_000;
const checkEveryMs = 500;

/** A running check. */
export interface MissingReport {
  /** Ends the check without a log line. */
  stop(): void;
}

/**
 * Checks until nothing is missing, for at most {@link graceMs} after the engine's first response, then logs an error for
 * each missing version.
 * @param needed called at each check: another configuration may be active by then
 */
export function reportMissing(
  engine: Pick<Engine, 'request'>,
  needed: () => readonly NeededWorkflow[],
  log: Logger,
): MissingReport {
  let until = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const check = async () => {
    const missing = await missingFrom(engine, needed()).catch(() => undefined);
    if (isStopped || missing?.length === 0) return;
    if (missing !== undefined) until = Math.min(until, performance.now() + graceMs);
    if (performance.now() < until) timer = setTimeout(() => void check(), checkEveryMs).unref();
    else for (const reason of missing ?? []) log.error(`${reason}: requests for this version get a 503 response`);
  };
  void check();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
