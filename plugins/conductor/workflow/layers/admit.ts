// Admission control: the execution of a request holds a permit from its start to its end; a request without one waits or is
// rejected.

import type { Admission } from '../../admission/admission.ts';
import type { BackEnds } from '../../admission/back-ends.ts';
import { subjectOf } from '../../admission/admission-subject.ts';
import { endingOf, endingOfError } from '../../execution/outcome.ts';
import { type Layer, leftBeforeStart } from '../execution-request.ts';

/**
 * An execution keeps its permit when it continues behind a 202, or after its client has disconnected. Otherwise clients could
 * exceed the limits by asking for 202, or by leaving early.
 */
export function admit(
  { backEndOf }: { backEndOf: string | undefined },
  { admission, backEnds }: { admission: Admission; backEnds: BackEnds },
): Layer {
  return (next) => async (request) => {
    const { received, client, clientGone, telemetry } = request;
    const { httpMethod: method, route, params } = received;
    const subject = subjectOf({ method, route, params, client }, backEndOf, backEnds);
    telemetry.queued();
    const admitted = await admission.admit({ ...subject, gone: clientGone });
    telemetry.admitted();
    if (admitted === null) return leftBeforeStart;
    try {
      const execution = await next(request);
      if (execution.executionId !== undefined) admitted.started(execution.executionId);
      void endingOf(execution.outcome).then((ending) => admitted.end(ending));
      return execution;
    } catch (error) {
      admitted.end(endingOfError(error));
      throw error;
    }
  };
}
