// Writes a problem document to an HTTP response.

import type { ServerResponse } from 'node:http';
import { type Problem, type ProblemIds, problemDocument } from './problem.ts';

/** How long a rejected client may continue to send its request before the connection is closed, in milliseconds. */
const lingerMs = 1_000;

/**
 * Responds with `problem`. When the head of the response has already been sent, the connection is closed abruptly
 * instead, so that the client detects the truncated response.
 */
export function sendProblem(response: ServerResponse, problem: Problem, ids: ProblemIds): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(JSON.stringify(problemDocument(problem, ids)));
  const headers: Record<string, string | number> = {
    ...problem.headers,
    'content-type': 'application/problem+json',
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-request-id': ids.requestId,
  };
  if (ids.executionId !== undefined) headers['x-execution-id'] = ids.executionId;
  response.writeHead(problem.status, headers);
  if (headers['connection'] === 'close' && !response.req.complete) endWhenRead(response, body);
  else response.end(body);
}

/**
 * Sends the body, discards the rest of the request, and then ends the response. If the connection were closed while the
 * client is still sending, it would be reset, and the client might never receive the response (RFC 9112 section 9.6).
 */
function endWhenRead(response: ServerResponse, body: Buffer): void {
  const { req: request } = response;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerMs);
  request.once('end', end).once('close', end);
  response.write(body);
  request.resume();
}
