// Makes a body readable: without content codings (RFC 9110 section 8.4) and without a byte order mark.

import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

const decoders = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  ['identity', (body) => body],
]);

/**
 * Maximum number of codings of one body. The number is limited, because decoding each of them allocates up to
 * `maxBytes`.
 */
const maxCodings = 3;

/** A message with the names of its header fields in lower case. */
interface Message {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

const byteOrderMark = Buffer.from('\ufeff');

/**
 * Returns the body of a message without the codings of its `Content-Encoding` (gzip, deflate, br; at most three), and
 * without a byte order mark, which a JSON parser may reject (RFC 8259 section 8.1). A body keeps its coding when the
 * coding is not supported, the body is damaged, or the result would have more than `maxBytes` bytes.
 */
export function readableBody(message: Message, maxBytes: number): Buffer {
  const body = withoutCoding(message, maxBytes);
  return body.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? body.subarray(byteOrderMark.length) : body;
}

function withoutCoding({ headers, body }: Message, maxBytes: number): Buffer {
  const coding = headers['content-encoding'];
  if (coding === undefined) return body;
  const codings = String(coding).toLowerCase().split(',').reverse();
  if (codings.length > maxCodings) return body;
  try {
    return codings.reduce((coded, name) => {
      const decode = decoders.get(name.trim());
      if (decode === undefined) throw new TypeError('an unknown content coding');
      return decode(coded, { maxOutputLength: maxBytes });
    }, body);
  } catch {
    return body;
  }
}
