// Answers a request with the problem document of whatever went wrong.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Problem, toProblem } from '#lib/problem/problem.ts';
import { sendProblem } from '#lib/problem/send-problem.ts';
import { contextOf } from '../plugin-api/plugin-api.ts';

/** Answers whatever went wrong as a problem document and keeps the reason for the log line. */
export function answerProblem(request: IncomingMessage, response: ServerResponse, error: unknown): Problem {
  const problem = toProblem(error);
  const context = contextOf(request);
  context.problem = problem.code;
  // A policy may have set a more precise reason than the caller is told.
  context.reason ??= problem.detail === undefined ? problem.code : `${problem.code}: ${problem.detail}`;
  sendProblem(response, problem, context);
  return problem;
}
