// Tells a layer how the execution of a request ended, or that it could not be started.

import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { type ExecutionEnding, endingOf, endingOfError } from '../execution/outcome.ts';
import type { ServeResult } from './execution-request.ts';

/**
 * Serves a request, and calls the listener once: when serving fails, or when the execution has ended. An execution that
 * continues after a 202 response ends later than that response. If the listener throws, its error is logged and the
 * client is not affected.
 */
export async function onEnding(
  serve: () => Promise<ServeResult>,
  listener: (ending: ExecutionEnding) => void,
  log: Pick<Logger, 'error'>,
): Promise<ServeResult> {
  const tell = (ending: ExecutionEnding) => {
    try {
      listener(ending);
    } catch (error) {
      log.error(errorFields(error), 'the end of an execution could not be counted');
    }
  };
  try {
    const result = await serve();
    void endingOf(result.outcome).then(tell);
    return result;
  } catch (error) {
    tell(endingOfError(error));
    throw error;
  }
}
