// Follows an execution for telemetry: its start, the tasks that this router hands out, and the end of the client's wait.

import type { Outcome } from '../../execution/outcome.ts';
import type { TelemetryIndex } from '../../telemetry/telemetry-index.ts';
import type { Layer } from '../execution-request.ts';

/** Stages and spans of a request with an execution. */
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
      telemetry.ended(executionEnded(reached), executionId);
      return reached;
    });
    return { ...execution, outcome };
  };
}

function executionEnded(outcome: Outcome): boolean {
  return outcome.kind === 'problem' ? outcome.problem.code !== 'wait-budget-spent' : outcome.kind === 'response';
}
