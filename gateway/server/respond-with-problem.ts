// Responds to a request with the problem document (RFC 9457) of an error.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Problem, toProblem } from '#lib/problem/problem.ts';
import { sendProblem } from '#lib/problem/send-problem.ts';
import { contextOf } from '../plugin-api/plugin-api.ts';

/**
 * Sends the problem document of an error, and records its code and reason for the access log.
 * @returns the problem; `internal-error` for errors that are not a Problem
 */
export function respondWithProblem(request: IncomingMessage, response: ServerResponse, error: unknown): Problem {
  const problem = toProblem(error);
  const context = contextOf(request);
  context.problem = problem.code;
  // A policy may have set a more precise reason, which is logged but not sent to the client.
  context.reason ??= problem.detail === undefined ? problem.code : `${problem.code}: ${problem.detail}`;
  sendProblem(response, problem, context);
  return problem;
}
