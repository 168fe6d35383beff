// Follows an execution for telemetry: its start, the tasks that this router hands out, and the end of the client's
// wait.

import type { Outcome } from '../../execution/outcome.ts';
import type { TelemetryIndex } from '../../telemetry/telemetry-index.ts';
import type { Serve, Start } from '../execution-request.ts';

/** Records the stages and spans of a request with an execution. */
export function trace(start: Start, { telemetry: index }: { telemetry: TelemetryIndex }): Serve {
  return async (request) => {
    const { telemetry } = request;
    telemetry.starting();
    const { executionId, outcome } = await start(request);
    index.started(executionId, telemetry);
    const traced = outcome.then((reached) => {
      index.forget(executionId, telemetry);
      telemetry.ended(executionEnded(reached), executionId);
      return reached;
    });
    return { executionId, outcome: traced };
  };
}

function executionEnded(outcome: Outcome): boolean {
  return outcome.kind === 'problem' ? outcome.problem.code !== 'wait-budget-spent' : outcome.kind === 'response';
}
