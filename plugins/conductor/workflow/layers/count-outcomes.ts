// A layer that counts the outcomes of requests and adds the time of each stage to the responses.

import { toProblem } from '#lib/problem/problem.ts';
import type { ExecutionOutcome } from '../../telemetry/execution-metrics.ts';
import { type Outcome, withHeaders } from '../../execution/outcome.ts';
import type { Layer } from '../execution-request.ts';

/** A replay is not counted, because the first response for its Idempotency-Key has been counted. */
export function countOutcomes(): Layer {
  return (next) => async (request) => {
    const { telemetry } = request;
    try {
      const execution = await next(request);
      const { executionId, earlier, outcome } = execution;
      if (earlier === 'replayed') {
        telemetry.close();
        return execution;
      }
      const own = earlier === undefined ? executionId : undefined;
      return { ...execution, outcome: outcome.then((reached) => counted(reached, own)) };
    } catch (error) {
      telemetry.failed(toProblem(error).code);
      throw error;
    }

    function counted(outcome: Outcome, executionId: string | undefined): Outcome {
      const times = telemetry.responds(labelOf(outcome), executionId);
      return times === undefined ? outcome : withHeaders(outcome, { 'server-timing': times });
    }
  };
}

function labelOf(outcome: Outcome): ExecutionOutcome {
  if (outcome.kind === 'problem') return outcome.problem.code;
  return outcome.kind === 'response' ? 'answered' : outcome.kind === 'accepted' ? 'deferred' : 'client-gone';
}
