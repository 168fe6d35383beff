// Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07) and derives the name that stands for the key
// in the engine and in Redis.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Problem } from '#lib/problem/problem.ts';

const maxKeyLength = 255;
/** A String as defined by Structured Fields (RFC 9651 section 3.3.3), as the draft requires. */
const quotedKey = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** The key without quotation marks, as most clients send it. */
const unquotedKey = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * Returns the key of a request; undefined when it has none. A key with quotation marks equals the same key without
 * them.
 * @throws Problem `malformed-idempotency-key` (400)
 */
export function idempotencyKeyOf({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): string | undefined {
  const fields = headersDistinct['idempotency-key'];
  if (fields === undefined) return undefined;
  if (fields.length > 1) throw malformed('There is more than one Idempotency-Key.');
  const [field = ''] = fields;
  const unquoted = quotedKey.exec(field)?.[1]?.replace(/\\(.)/g, '$1');
  const key = unquoted ?? (unquotedKey.test(field) ? field : undefined);
  if (key === '' || field === '') throw malformed('The key is empty.');
  if (key === undefined) throw malformed('The key must be visible ASCII without spaces, or a quoted string of ASCII.');
  if (key.length > maxKeyLength) throw malformed(`The key has more than ${maxKeyLength} characters.`);
  return key;
}

function malformed(detail: string): Problem {
  return new Problem('malformed-idempotency-key', { detail });
}

const namePattern = /^idempotency-[0-9a-f]{64}$/;

/**
 * Returns true for a correlation id of the form that {@link nameOfKey} returns. Other correlation ids are request ids.
 */
export function isNameOfKey(correlationId: unknown): boolean {
  return typeof correlationId === 'string' && namePattern.test(correlationId);
}

/**
 * Returns the name of a client's key in the engine and in Redis: a digest, which reveals neither client nor key. Equal
 * keys of two clients have different names.
 */
export function nameOfKey(clientId: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([clientId, key]))
    .digest('hex');
  return `idempotency-${digest}`;
}
