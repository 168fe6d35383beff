// Writes a problem document to an HTTP response, once, whatever state the response is in.

import type { ServerResponse } from 'node:http';
import { type Problem, type ProblemIds, problemDocument } from './problem.ts';

/** How long a client that is refused may go on sending its request before the connection is closed, in milliseconds. */
const lingerMs = 1_000;

/**
 * Answers with `problem`. When the head has gone out already, nothing truthful can be added: the connection is
 * cut, so that the caller sees a broken answer instead of a complete-looking half of one.
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
 * Closing a connection on which a client is still sending resets it, and the client may never see the answer: what it
 * sends is thrown away for a while (RFC 9112 section 9.6).
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
