// Reads a header field with a credential and removes it, so that nothing later can log it, store it or forward it.

import type { IncomingMessage } from 'node:http';

/**
 * Returns every value of the field, in order (Node's own `headers` keeps only the first), and removes the field.
 * @param name in lower case
 */
export function takeHeader(request: IncomingMessage, name: string): string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] as string;
    if (field.length !== name.length || field.toLowerCase() !== name) continue;
    values.push(rawHeaders[index + 1] as string);
    // The value is emptied instead of removed, because Node iterates over the list up to its original length.
    rawHeaders[index + 1] = '';
  }
  if (values.length === 0) return values;
  Reflect.deleteProperty(request.headers, name);
  Reflect.deleteProperty(request.headersDistinct, name);
  return values;
}
