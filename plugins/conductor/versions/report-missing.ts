// Says in the log, once after the start, which versions of the map the engine does not have.

import type { Engine } from '../../../conductor/engine.ts';
import type { Logger } from '../../../logging/log.ts';
import { missingFrom } from '../readiness.ts';
import type { NeededWorkflow } from './create-versions.ts';

/** Definitions may be registered at the same time as a router starts, in milliseconds. */
const graceMs = 10_000;
const lookEveryMs = 500;

export interface MissingReport {
  stop(): void;
}

/**
 * Looks until nothing is missing, at most for {@link graceMs}. An engine that does not answer is readiness' matter.
 * @param needed asked each time: another configuration may have taken over
 */
export function reportMissing(
  engine: Pick<Engine, 'request'>,
  needed: () => readonly NeededWorkflow[],
  log: Logger,
): MissingReport {
  const until = performance.now() + graceMs;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async () => {
    const missing = await missingFrom(engine, needed()).catch(() => undefined);
    if (isStopped || missing?.length === 0) return;
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
