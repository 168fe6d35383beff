// A layer that tells each workflow version how its executions ended, for the metrics and the version guard.

import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Layer } from '../execution-request.ts';
import { onEnding } from '../on-ending.ts';

/** A failed start counts too, because the version may be unregistered. */
export function judgeVersions({ log }: { log: Pick<Logger, 'error'> }): Layer {
  return (next) => (request) =>
    onEnding(
      () => next(request),
      (ending) => request.version.ended(ending, performance.now() - request.receivedAt),
      log,
    );
}
