// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): which requests a client means as one.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Problem } from '#lib/problem/problem.ts';

const longest = 255;
/** A String of Structured Fields (RFC 9651 section 3.3.3), as the draft has it. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** Without quotation marks, as most clients send it. */
const bare = /^[\x21\x23-\x7e][\x21-\x7e]*$/;

/**
 * The key of a request; undefined when it has none. With and without quotation marks it is the same key.
 * @throws Problem `malformed-idempotency-key` (400)
 */
export function idempotencyKeyOf({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): string | undefined {
  const fields = headersDistinct['idempotency-key'];
  if (fields === undefined) return undefined;
  if (fields.length > 1) throw malformed('There is more than one Idempotency-Key.');
  const [field = ''] = fields;
  const inside = quoted.exec(field)?.[1]?.replace(/\\(.)/g, '$1');
  const key = inside ?? (bare.test(field) ? field : undefined);
  if (key === '' || field === '') throw malformed('The key is empty.');
  if (key === undefined) throw malformed('The key is visible ASCII without spaces, or a quoted string of ASCII.');
  if (key.length > longest) throw malformed(`The key has more than ${longest} characters.`);
  return key;
}

function malformed(detail: string): Problem {
  return new Problem('malformed-idempotency-key', { detail });
}

const namePattern = /^idempotency-[0-9a-f]{64}$/;

/** True for what looks like a result of {@link nameOfKey}. Other correlation ids are the request ids of clients. */
export function isNameOfKey(correlationId: unknown): boolean {
  return typeof correlationId === 'string' && namePattern.test(correlationId);
}

/**
 * What stands for the key of a client in the engine and in Redis. Neither can be read from it, and the same key of
 * another client is another one.
 */
export function nameOfKey(clientId: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([clientId, key]))
    .digest('hex');
  return `idempotency-${digest}`;
}
