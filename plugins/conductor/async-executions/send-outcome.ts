// Sends the answer of an execution that has ended, to whomever and whenever: the same one each time.

import type { Response } from 'express';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { contextOf } from '../../../gateway/plugin-api/plugin-api.ts';
import { toProblem } from '#lib/problem/problem.ts';
import { type AnswerOptions, answerOf, sendAnswer } from '../execution/response.ts';
import { inboundOf, isRead } from '../execution/client-executions.ts';

export interface OutcomeOptions {
  readonly answers: AnswerOptions;
  /** Fields of this exchange, besides those of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends what the synchronous call would have been answered with.
 * @throws Problem, which is that answer when there is none of the back end
 */
export async function sendOutcome(
  response: Response,
  execution: WholeExecution,
  { answers, headers = {} }: OutcomeOptions,
): Promise<void> {
  const { httpMethod, requestId } = inboundOf(execution);
  try {
    const answer = answerOf(execution, { ...answers, readOnly: isRead(httpMethod) });
    response.setHeader('x-execution-id', execution.workflowId);
    const sent = (await contextOf(response.req).compress?.(answer)) ?? answer;
    sendAnswer(response, { ...sent, headers: { ...sent.headers, ...headers } });
  } catch (error) {
    throw toProblem(error).with({ headers, requestId });
  }
}
