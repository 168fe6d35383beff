// Follows an execution for telemetry: from its start, through the tasks that this router hands out, to its end.

import type { Outcome } from '../../execution/outcome.ts';
import type { TelemetryIndex } from '../../telemetry/telemetry-index.ts';
import type { Layer } from '../execution-request.ts';

/** The span and the stages of the execution. */
export function trace({ telemetry: index }: { telemetry: TelemetryIndex }): Layer {
  return (next) => async (request) => {
    const { telemetry } = request;
    telemetry.starting();
    const execution = await next(request);
    const { executionId } = execution;
    if (executionId === undefined) return execution;
    index.started(executionId, telemetry);
    const outcome = execution.outcome.then((reached) => {
      index.forget(executionId, telemetry);
      telemetry.ended(hasEnded(reached), executionId);
      return reached;
    });
    return { ...execution, outcome };
  };
}

function hasEnded(outcome: Outcome): boolean {
  return outcome.kind === 'problem' ? outcome.problem.code !== 'wait-budget-spent' : outcome.kind === 'response';
}
