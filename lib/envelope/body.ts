// Encodes bodies for the engine: safe text stays unchanged, other bytes become base64, and large bodies are compressed.

import { gunzipSync, gzipSync } from 'node:zlib';
import { isSafeText } from './text.ts';

/** Bodies with more than this many bytes are compressed before they are stored. */
const compressAboveBytes = 32_768;

/** How `body` represents the bytes. `text`: as text; `base64`: in base64; `gzip+base64`: compressed, then in base64. */
export type BodyEncoding = 'text' | 'base64' | 'gzip+base64';

/** A body inside an envelope. When both fields are absent, there is no body. */
export interface EncodedBody {
  body?: string;
  bodyEncoding?: BodyEncoding;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Encodes bytes losslessly. Text is never parsed, so 20-digit numbers and duplicate keys are preserved. Base64 is used
 * for bytes that are not UTF-8, and for text with NUL (PostgreSQL cannot store it) or `${` (the engine would resolve
 * `${workflow.secrets.…}` inside client data).
 */
export function encodeBody(bytes: Uint8Array): EncodedBody {
  if (bytes.length === 0) return {};
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length > compressAboveBytes) {
    const compressed = compressBody(bytes);
    return {
      body: (compressed ?? buffer).toString('base64'),
      bodyEncoding: compressed === null ? 'base64' : 'gzip+base64',
    };
  }
  const text = toSafeText(buffer);
  return text === null
    ? { body: buffer.toString('base64'), bodyEncoding: 'base64' }
    : { body: text, bodyEncoding: 'text' };
}

/**
 * Returns the bytes of an encoded body; empty when there is no body.
 * @param maxBytes maximum size after decoding; default: unlimited
 * @throws RangeError when the body is larger than `maxBytes`, TypeError when it is not a string, its encoding is
 *   unknown or the text is not base64, Error when the compressed bytes are damaged
 */
export function decodeBody({ body, bodyEncoding }: EncodedBody, maxBytes = Number.POSITIVE_INFINITY): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  // Workers in other languages may report parsed JSON. `Buffer.from` would convert a list to one byte per item.
  if (typeof body !== 'string') throw new TypeError('the body is not a string');
  const bytes = decode(body, bodyEncoding ?? 'text', maxBytes);
  if (bytes.length > maxBytes) throw new RangeError(`the body has more than ${maxBytes} bytes`);
  return bytes;
}

/** Returns the bytes compressed with gzip; null when the body is small or compression does not make it smaller. */
export function compressBody(bytes: Uint8Array): Buffer | null {
  if (bytes.length <= compressAboveBytes) return null;
  const compressed = gzipSync(bytes, { level: 1 });
  return compressed.length < bytes.length ? compressed : null;
}

/**
 * Reverses {@link compressBody}.
 * @throws RangeError when the result is larger than `maxBytes`, Error for damaged bytes
 */
export function inflateBody(compressed: Uint8Array, maxBytes = Number.POSITIVE_INFINITY): Buffer {
  return gunzipSync(compressed, Number.isFinite(maxBytes) ? { maxOutputLength: maxBytes } : {});
}

function decode(body: string, encoding: BodyEncoding, maxBytes: number): Buffer {
  switch (encoding) {
    case 'text':
      return Buffer.from(body, 'utf8');
    case 'base64':
      return fromBase64(body);
    case 'gzip+base64':
      return inflateBody(fromBase64(body), maxBytes);
    default:
      throw new TypeError(`unknown bodyEncoding ${String(encoding)}`);
  }
}

/**
 * Decodes strict base64 (RFC 4648 sections 4 and 5, with optional padding). Node skips invalid characters and stops at
 * the first `=`, so the length of the result shows whether the whole text was valid.
 */
function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  const [padding] = /={0,2}$/.exec(text.slice(-2)) as RegExpExecArray;
  const digits = text.length - padding.length;
  const isPadded = padding === '' || text.length % 4 === 0;
  if (!isPadded || digits % 4 === 1 || bytes.length !== Math.floor((digits * 3) / 4))
    throw new TypeError('the body is not base64');
  return bytes;
}

function toSafeText(bytes: Buffer): string | null {
  try {
    const text = utf8.decode(bytes);
    return isSafeText(text) ? text : null;
  } catch {
    return null;
  }
}
