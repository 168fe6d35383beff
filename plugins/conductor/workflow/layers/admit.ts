// The layer of admission control: each execution holds a permit until it has ended. A request that gets no permit waits
// in the queue or is rejected.

import type { Logger } from '#lib/telemetry/logging/log.ts';
import type { Admission } from '../../admission/admission.ts';
import type { BackEnds } from '../../admission/back-ends.ts';
import { subjectOf } from '../../admission/admission-subject.ts';
import { type Layer, leftBeforeStart } from '../execution-request.ts';
import { onEnding } from '../on-ending.ts';

/**
 * An execution keeps its permit when it continues after a 202 response, or after its client has disconnected.
 * Otherwise, clients could exceed the limits by asking for a 202 response or by leaving early.
 */
export function admit(
  { backEndOf }: { backEndOf: string | undefined },
  { admission, backEnds, log }: { admission: Admission; backEnds: BackEnds; log: Pick<Logger, 'error'> },
): Layer {
  return (next) => async (request) => {
    const { received, client, clientGone, startBefore, telemetry } = request;
    const { httpMethod: method, route, params } = received;
    const subject = subjectOf({ method, route, params, client }, backEndOf, backEnds);
    telemetry.queued();
    const admitted = await admission.admit({ ...subject, gone: clientGone, startBefore });
    telemetry.admitted();
    if (admitted === null) return leftBeforeStart;
    const serve = async () => {
      const result = await next(request);
      if (result.executionId !== undefined) admitted.started(result.executionId);
      return result;
    };
    return onEnding(serve, (ending) => admitted.end(ending), log);
  };
}
