// Says in the log, once after the start, which versions of the map the engine does not have.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { missingFrom } from './readiness.ts';
import type { NeededWorkflow } from './versions/create-versions.ts';

/** Definitions may be registered at the same time as a router and its engine start, in milliseconds. */
const graceMs = 10_000;
const lookEveryMs = 500;

export interface MissingReport {
  stop(): void;
}

/**
 * Looks until nothing is missing, at most for {@link graceMs} from the engine's first answer on.
 * @param needed asked each time: another configuration may have taken over
 */
export function reportMissing(
  engine: Pick<Engine, 'request'>,
  needed: () => readonly NeededWorkflow[],
  log: Logger,
): MissingReport {
  let until = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async () => {
    const missing = await missingFrom(engine, needed()).catch(() => undefined);
    if (isStopped || missing?.length === 0) return;
    if (missing !== undefined) until = Math.min(until, performance.now() + graceMs);
    if (performance.now() < until) timer = setTimeout(() => void look(), lookEveryMs).unref();
    else for (const reason of missing ?? []) log.error(`${reason}: requests that get it are answered 503`);
  };
  void look();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
