// Removes content codings (RFC 9110 section 8.4) from a body.

import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from 'node:zlib';

type Decode = (body: Buffer, options: ZlibOptions) => Buffer;

const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: (body, { maxOutputLength }) =>
    brotliDecompressSync(body, maxOutputLength === undefined ? {} : { maxOutputLength }),
  identity: (body) => body,
};

/** A message with the names of its header fields in lower case. */
interface Message {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
}

/**
 * Returns the body of a message without the codings of its `Content-Encoding`: gzip, deflate, br. The body itself when
 * it has another coding, is damaged, or would have more than `maxBytes` bytes.
 */
export function withoutContentCoding({ headers, body }: Message, maxBytes: number): Buffer {
  const coding = headers['content-encoding'];
  if (coding === undefined) return body;
  const codings = String(coding).toLowerCase().split(',').reverse();
  try {
    return codings.reduce((coded, name) => {
      const decode = decoders[name.trim()];
      if (decode === undefined) throw new TypeError('an unknown content coding');
      return decode(coded, { maxOutputLength: maxBytes });
    }, body);
  } catch {
    return body;
  }
}
