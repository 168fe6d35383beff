// Sends the response of an execution that has ended. Repeated calls send the same response.

import type { Response } from 'express';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { contextOf } from '../../../gateway/plugin-api/plugin-api.ts';
import { toProblem } from '#lib/problem/problem.ts';
import { type ResponseOptions, responseOf, sendResponse } from '../execution/response.ts';
import { inboundOf, isRead } from '../execution/client-executions.ts';

/** How the response is sent. */
export interface OutcomeOptions {
  readonly answers: ResponseOptions;
  /** Additional header fields for this response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends the response that the synchronous request would have received.
 * @throws Problem when the execution has no response of the back end
 */
export async function sendOutcome(
  response: Response,
  execution: WholeExecution,
  { answers, headers = {} }: OutcomeOptions,
): Promise<void> {
  const { httpMethod, requestId } = inboundOf(execution);
  try {
    const result = responseOf(execution, { ...answers, readOnly: isRead(httpMethod) });
    response.setHeader('x-execution-id', execution.workflowId);
    const sent = (await contextOf(response.req).compress?.(result)) ?? result;
    sendResponse(response, { ...sent, headers: { ...sent.headers, ...headers } });
  } catch (error) {
    throw toProblem(error).with({ headers, requestId });
  }
}
