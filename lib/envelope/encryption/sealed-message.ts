// Encodes the plaintext of encrypted requests and responses: the fields as one line of JSON, then the raw or gzipped
// body.

import { compressBody, inflateBody } from '../body.ts';

const lineFeed = 0x0a;

/** Returns the bytes to encrypt. @param fields a JSON object */
export function encodeMessage(fields: object, body: Uint8Array): Buffer {
  const compressed = compressBody(body);
  const line = JSON.stringify(compressed === null ? fields : { ...fields, bodyEncoding: 'gzip' });
  return Buffer.concat([Buffer.from(`${line}\n`), compressed ?? body]);
}

/**
 * Reverses {@link encodeMessage}.
 * @throws RangeError when the body has more than `maxBytes`
 */
export function decodeMessage<T extends object>(plaintext: Buffer, maxBytes?: number): { fields: T; body: Buffer } {
  const end = plaintext.indexOf(lineFeed);
  const { bodyEncoding, ...fields } = JSON.parse(plaintext.toString('utf8', 0, end)) as T & { bodyEncoding?: string };
  const bytes = plaintext.subarray(end + 1);
  const body = bodyEncoding === 'gzip' ? inflateBody(bytes, maxBytes) : bytes;
  if (maxBytes !== undefined && body.length > maxBytes)
    throw new RangeError(`the body has more than ${maxBytes} bytes`);
  return { fields: fields as unknown as T, body };
}
