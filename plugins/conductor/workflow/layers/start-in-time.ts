// A layer that starts nothing when the client has left, when the time for a start has passed, or while the router
// drains.

import { Problem } from '#lib/problem/problem.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { shuttingDown } from '../../execution/shutting-down.ts';
import { type Layer, leftBeforeStart } from '../execution-request.ts';

/**
 * The checks come after admission, because a request may have waited in the admission queue. A router that was
 * suspended (SIGSTOP, machine sleep) finds requests whose clients have given up, and idempotency locks that another
 * request may hold by now.
 * @throws Problem `shutting-down` or `overloaded` (503)
 */
export function startInTime({ draining }: { draining: AbortSignal }): Layer {
  return (next) => async (request) => {
    // Only writes are checked: a read for which nobody waits does no harm, and its execution is terminated.
    if (!isSafeMethod(request.received.httpMethod) && (await request.hasLeft())) return leftBeforeStart;
    // Nothing may be awaited between this check and the start. A draining router without clients ends the polls of
    // workers, so an execution that is started after that might find no worker.
    if (draining.aborted) throw shuttingDown({ connection: 'close' });
    if (performance.now() < request.startBefore) return next(request);
    throw new Problem('overloaded', {
      detail: 'The execution could not be started in time.',
      headers: { 'retry-after': '1' },
    });
  };
}
