// Helpers of the engine-api policy that parse numbers in a query and send responses.

import type { Response } from 'express';
import { Problem } from '#lib/problem/problem.ts';

/** Sends a response with its Content-Length; without one, Node would send it in chunks. */
export function send(
  response: Response,
  status: number,
  { type, body }: { type: string; body: string | Buffer },
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

/**
 * Parses a whole number from a query; returns `absent` for a missing or empty value.
 * @throws Problem `malformed-request`
 */
export function wholeNumber(text: string | null, absent: number): number {
  const value = text === null || text === '' ? absent : Number(text);
  if (!Number.isInteger(value) || value < 0)
    throw new Problem('malformed-request', { detail: 'count and timeout must be non-negative integers.' });
  return value;
}
