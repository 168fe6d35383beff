// A layer that compresses the back end's response for clients that accept compression.

import { compressOutcome, type CompressOptions } from '../../execution/compress-response.ts';
import { problemOutcome } from '../../execution/outcome.ts';
import type { Layer } from '../execution-request.ts';

/** @param options undefined when responses are not compressed */
export function compress(options: CompressOptions | undefined): Layer {
  if (options === undefined) return (next) => next;
  return (next) => async (request) => {
    const execution = await next(request);
    const client = { method: request.received.httpMethod, coding: request.coding };
    const outcome = execution.outcome.then((reached) => compressOutcome(reached, client, options));
    return { ...execution, outcome: outcome.catch(problemOutcome) };
  };
}
