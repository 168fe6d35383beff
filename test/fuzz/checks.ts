// Checks of every response in a fuzz test, and of every request that reaches the back end.

import { problemKinds } from '#lib/problem/catalogue.ts';
import { oauthErrors } from '../../plugins/oauth2/token/oauth-error.ts';
import type { RawAnswer } from '../wire/raw-client.ts';
import { reflected } from './requests.ts';

/** ETag that marks the back end's own responses. */
export const backEndTag = '"of-the-back-end"';

/** Returns what is wrong with a response; null when nothing is. */
export function wrongWith(answer: RawAnswer, seenIds: Set<string>): string | null {
  const { status, headers, body } = answer;
  if (status === 100) return null;
  if (JSON.stringify(answer).includes(reflected)) return 'the response contains what the client sent';
  // These responses show that the machine is too slow for the test, not that the router fails.
  const busy = /"\/problems\/(?:overloaded|wait-budget-spent)"/.test(body);
  if (status >= 500 && !busy) return `a failure: ${status} ${body}`;
  const id = headers['x-request-id'] ?? '';
  if (!/^[0-9A-Za-z._-]{8,64}$/.test(id)) return `X-Request-Id ${id}`;
  if (/^[0-9a-f-]{36}$/.test(id) && seenIds.size === seenIds.add(id).size) return `X-Request-Id ${id} was used twice`;
  if (headers['etag'] === backEndTag) return status === 200 ? null : `the back end's response with status ${status}`;
  if (body === '' && headers['content-type'] !== undefined) return null;
  if (status === 302) return headers['location'] === '/docs' ? null : `a redirect to ${headers['location']}`;
  const found = JSON.parse(body) as Record<string, unknown>;
  if (headers['content-type'] === 'application/problem+json') {
    const code = String(found['type']).replace('/problems/', '') as keyof typeof problemKinds;
    if (problemKinds[code]?.status !== status || found['status'] !== status)
      return `the problem ${code} with ${status}`;
    return found['requestId'] === id ? null : 'the request id of the problem differs from that of the header';
  }
  const code = String(found['error']) as keyof typeof oauthErrors;
  return oauthErrors[code]?.status === status
    ? null
    : `neither the back end's response nor a problem: ${status} ${body}`;
}

/** Header fields that may reach a back end. */
const fields = new Set(
  (
    'host connection accept accept-charset accept-encoding accept-language content-encoding content-language content-length content-type ' +
    'if-match if-modified-since if-none-match if-range if-unmodified-since prefer range user-agent x-request-id idempotency-key'
  ).split(' '),
);

/** Returns what is wrong with a request that reached the back end; null when nothing is. */
export function wrongAtBackEnd(request: string): string | null {
  const [line = '', ...lines] = request.slice(0, request.indexOf('\r\n\r\n')).split('\r\n');
  if (!/^[A-Z]+ \/[\x21-\x7e]* HTTP\/1\.1$/.test(line)) return `the request line ${JSON.stringify(line)}`;
  if (/\/(?:\.|%2e){1,2}(?:[/;?]|%2f| )/i.test(line.split('?', 1)[0] ?? '')) return `a dot segment: ${line}`;
  for (const field of lines) {
    const [, name = ''] = /^([\w-]+): [\t\x20-\x7e\x80-\xff]*$/.exec(field) ?? [];
    if (!fields.has(name.toLowerCase())) return `the field ${JSON.stringify(field)}`;
  }
  return null;
}
