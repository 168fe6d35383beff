// Reads request bodies as bytes or as JSON objects.

import type { IncomingMessage } from 'node:http';
import { BackEndError } from './json-response.ts';

/** Largest accepted body. */
const maxBodyBytes = 16_777_216;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the whole body. A body that is too large is read to its end, so that the connection can be reused.
 * @throws BackEndError 413 when the body is larger than 16 MiB
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  if (length > maxBodyBytes)
    throw new BackEndError('413 body-too-large', `the body may have at most ${maxBodyBytes} bytes`);
  return Buffer.concat(chunks);
}

/**
 * Parses a JSON object.
 * @throws BackEndError 415 when the content type is not JSON, 400 for invalid JSON, 422 when it is not an object
 */
export function parseJsonRequest(request: IncomingMessage, body: Buffer): Record<string, unknown> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)) {
    throw new BackEndError('415 not-json', 'the content type must be application/json');
  }
  const value = parseJson(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BackEndError('422 not-an-object', 'the body must be a JSON object');
  }
  return value as Record<string, unknown>;
}

/** Returns a non-empty text field. @throws BackEndError 422 that names the field */
export function requireText(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new BackEndError('422 invalid-field', `${name} must be a non-empty string`);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    throw new BackEndError('400 broken-json', 'the body is not JSON in UTF-8');
  }
}
