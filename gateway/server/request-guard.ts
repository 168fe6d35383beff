// The request guard: rejects ambiguous or malformed requests (request smuggling, path traversal) before Express sees
// them.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Problem } from '#lib/problem/problem.ts';
import { hasDotSegment } from '#lib/http/dot-segments.ts';

/**
 * Header fields that may appear only once: a repeated field is ambiguous (RFC 9110 section 5.3). Node would keep the
 * first value of some of them and join the values of the others.
 */
const singular = new Set([
  'host',
  'authorization',
  'x-authorization',
  'content-type',
  'content-length',
  'transfer-encoding',
]);

/**
 * Percent-encoded control characters: no back end needs them in a path, and some stores cannot hold NUL in a parameter.
 */
const encodedControl = /%(?:[01][0-9a-f]|7f)/i;
/** Paths that consist of these characters need no further checks. */
const plainPath = /^[\w/~-]*$/;
const badPercent = /%(?![0-9a-f]{2})/i;
/** Host and optional port (RFC 9110 section 7.2). */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::[0-9]*)?$/i;
/** Maximum number of header fields in one request. */
const maxFields = 100;

/**
 * Checks the HTTP version, target and header fields of a request. It does not check the method, because each route has
 * its own list of methods.
 * @throws Problem `malformed-request` (400), `expectation-failed` (417) or `header-fields-too-large` (431)
 */
export function checkRequest(request: IncomingMessage): void {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0')
    refuse('Only HTTP/1.1 and HTTP/1.0 are supported.');
  checkTarget(request.url ?? '');
  checkFields(request);
}

function checkTarget(target: string): void {
  if (!target.startsWith('/')) refuse('The request target must be a path.');
  if (/[^!-~]|#/.test(target)) refuse('The request target has a character that must be percent-encoded.');
  if (badPercent.test(target)) refuse('The request target has an invalid percent-encoding.');
  const path = target.split('?', 1)[0] as string;
  if (plainPath.test(path)) return;
  if (encodedControl.test(path)) refuse('The path has a percent-encoded control character.');
  const decoded = decodePath(path);
  if (decoded === null) refuse('The percent-decoded path is not valid UTF-8.');
  if (hasDotSegment(decoded)) refuse('The path has a dot segment.');
}

/** Percent-decodes a path; null when it is not UTF-8. */
function decodePath(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function checkFields({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxFields) {
    throw new Problem('header-fields-too-large', {
      detail: `At most ${maxFields} header fields are accepted.`,
      headers: { connection: 'close' },
    });
  }
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (!singular.has(name)) continue;
    if (seen.has(name)) refuse(`The header field ${name} appears more than once.`);
    seen.add(name);
  }
  if (!seen.has('host') && httpVersion === '1.1') refuse('The header field host is missing.');
  if (headers.host !== undefined && !hostPattern.test(headers.host))
    refuse('The header field host is not a valid host.');
  if (headers.expect !== undefined && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', {
      detail: 'Only 100-continue is supported.',
      headers: { connection: 'close' },
    });
  }
  // Content-Length together with Transfer-Encoding may be an attempt at request smuggling (RFC 9112 section 6.1).
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return;
  if (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')
    refuse('Only the transfer coding chunked is supported.');
  if (seen.has('content-length')) refuse('A request must not have both content-length and transfer-encoding.');
}

function refuse(detail: string): never {
  throw new Problem('malformed-request', { detail, headers: { connection: 'close' } });
}

/** Returns the client's `X-Request-Id` when it is a harmless token of 8 to 64 characters, else a new UUID. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[0-9A-Za-z._-]{8,64}$/.test(given) ? given : randomUUID();
}
