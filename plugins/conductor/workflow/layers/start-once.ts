// A layer that starts at most one execution for each Idempotency-Key: a repeated request gets the outcome of the first.

import type { ResponseOptions } from '../../execution/response.ts';
import { problemOutcome, recordedOutcome, withHeaders } from '../../execution/outcome.ts';
import type { IdempotentStart } from '../../idempotency/idempotent-start.ts';
import { type Layer, leftBeforeStart } from '../execution-request.ts';

/** Dependencies of the layer. */
export interface StartOnceDependencies {
  readonly idempotentStart: IdempotentStart;
  readonly responseOptions: ResponseOptions;
}

/** Requests without a key are passed on to the next layer. */
export function startOnce(
  { workflow }: { workflow: string },
  { idempotentStart, responseOptions }: StartOnceDependencies,
): Layer {
  return (next) => async (request) => {
    if (!request.isKeyed) return next(request);
    const { received, correlationId, clientGone, startBefore } = request;
    const result = await idempotentStart.start(
      { name: correlationId, workflow, request: received, startBefore },
      clientGone,
      (lockedUntil) => next({ ...request, startBefore: Math.min(startBefore, lockedUntil) }),
    );
    if (result === null) return leftBeforeStart;
    if ('started' in result) return result.started;
    const { first, problem } = result;
    const outcome =
      problem === undefined
        ? withHeaders(recordedOutcome(first, responseOptions), { 'idempotency-replayed': 'true' })
        : problemOutcome(problem);
    return {
      executionId: first.workflowId,
      version: first.workflowVersion,
      earlier: problem === undefined ? 'replayed' : 'rejected',
      outcome: Promise.resolve(outcome),
    };
  };
}
