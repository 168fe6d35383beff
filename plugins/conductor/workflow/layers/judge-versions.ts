// Tells the version guard how each execution of its workflow version has ended.

import { type ExecutionEnding, endingOf, endingOfError } from '../../execution/outcome.ts';
import type { Layer } from '../execution-request.ts';

/** A failed start counts too: the engine may lack the version. */
export function judgeVersions(): Layer {
  return (next) => async (request) => {
    const judge = (ending: ExecutionEnding) => request.version.ended(ending, performance.now() - request.receivedAt);
    try {
      const execution = await next(request);
      void endingOf(execution.outcome).then(judge);
      return execution;
    } catch (error) {
      judge(endingOfError(error));
      throw error;
    }
  };
}
