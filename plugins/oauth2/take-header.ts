// Reads a header field that carries a credential, and removes it: nothing behind can log it, store it or pass it on.

import type { IncomingMessage } from 'node:http';

/**
 * Every value the field was sent with, in order; Node's own `headers` would hide all but the first.
 * @param name in lower case
 */
export function takeHeader(request: IncomingMessage, name: string): string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] as string;
    if (field.length !== name.length || field.toLowerCase() !== name) continue;
    values.push(rawHeaders[index + 1] as string);
    // Emptied, not cut out: Node reads this list by a count it took before.
    rawHeaders[index + 1] = '';
  }
  if (values.length === 0) return values;
  Reflect.deleteProperty(request.headers, name);
  Reflect.deleteProperty(request.headersDistinct, name);
  return values;
}
