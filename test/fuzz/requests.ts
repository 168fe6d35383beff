// Unusual but well-formed requests for fuzz tests.

import { fc } from '../run/properties.ts';

/** The parts of a request. */
export interface FuzzRequest {
  method: string;
  target: string;
  fields: [name: string, value: string][];
  body: Uint8Array;
  chunked: boolean;
  withToken: boolean;
}

/** Marker in the parts of a request that the client chooses; it must not appear in a response. */
export const reflected = 'zq<reflected>qz';

const hostile = [
  ...['<script>alert(1)</script>', '${workflow.secrets.HOME}', '"\'`', '__proto__', ';a=b', '\\', reflected],
  ...['..', '%2e%2e', '%00', '%0d%0aset-cookie:a=b', '%ff', '%zz', 'http://127.0.0.1:1/'],
];
const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 20,
});
const latin1 = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
const part = fc.oneof(
  visible,
  fc.constantFrom(...hostile),
  fc.string({ unit: 'grapheme', maxLength: 10 }).map(encodeSafely),
);

const target = fc
  .tuple(
    fc.constantFrom(
      ...['/adaptor/777/', '/adaptor/777', '/adaptor/', '/movies/', '/lmsDW/1/dataSync/'],
      ...['/token/v1/token', '/conductor/api/', '/'],
    ),
    fc.array(part, { maxLength: 5 }),
    fc.option(fc.array(part, { maxLength: 4 })),
  )
  .map(([start, path, query]) =>
    `${start}${path.join('/')}${query === null ? '' : `?${query.join('&')}`}`.replaceAll(/[ #]/g, '%20'),
  );

const name = fc.oneof(
  fc.constantFrom(
    ...(
      'Accept Accept-Encoding Connection Content-Encoding Content-Type Cookie Expect If-Match Prefer Range Forwarded ' +
      'X-Forwarded-For X-Forwarded-Host eg-consumer-id X-Request-Id X-HTTP-Method-Override Upgrade TE Trailer ' +
      'Keep-Alive Via X-Authorization User-Agent Idempotency-Key X-Execution-Id __proto__ constructor'
    ).split(' '),
  ),
  fc.stringMatching(/^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,20}$/),
);
const value = fc.oneof(
  latin1.map((text) => text.trim()),
  fc.constantFrom(...hostile, 'close', 'keep-alive', '100-continue', 'chunked', 'h2c', 'application/json', 'gzip'),
);

export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.record({
  method: fc.constantFrom(...'GET GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND TRACE QUERY'.split(' ')),
  target,
  fields: fc.array(fc.tuple(name, value), { maxLength: 12 }),
  body: fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.json().map((text) => Buffer.from(text)),
    fc.constantFrom(...hostile).map((text) => Buffer.from(text)),
  ),
  chunked: fc.boolean(),
  withToken: fc.boolean(),
});

/** Returns the bytes of a request. */
export function toWire(
  { method, target: given, fields, body, chunked, withToken }: FuzzRequest,
  token: string,
): Buffer {
  const lines = [`${method} ${given} HTTP/1.1`, 'Host: a', ...fields.map(([field, content]) => `${field}: ${content}`)];
  if (withToken) lines.push(`Authorization: Bearer ${token}`);
  if (body.length > 0) lines.push(chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  if (body.length === 0 || !chunked) return Buffer.concat([head, body]);
  return Buffer.concat([head, Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
}

function encodeSafely(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
