// Reports the end of each execution to the version guard of its workflow version.

import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Layer } from '../execution-request.ts';
import { onEnding } from '../on-ending.ts';

/** A failed start counts too: the engine may lack the version. */
export function judgeVersions({ log }: { log: Pick<Logger, 'error'> }): Layer {
  return (next) => (request) =>
    onEnding(
      () => next(request),
      (ending) => request.version.ended(ending, performance.now() - request.receivedAt),
      log,
    );
}
