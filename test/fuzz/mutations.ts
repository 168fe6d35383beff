// Mutates the bytes of valid requests, to imitate a broken or hostile client.

import { fc } from '../run/properties.ts';

interface Mutation {
  /** Relative position in the bytes, 0 to 1. */
  at: number;
  /** Number of bytes. */
  length: number;
  kind: 'delete' | 'repeat' | 'insert' | 'replace' | 'flip' | 'cut';
  what: string;
}

/** Byte sequences that parsers often handle wrongly. */
const pieces = [
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\0', ' ', '\t', '\x0b', '\x7f', '\x80', '\xff'],
  ...[':', ';', ',', '0', '-', '+', '%', '%00', '%0d%0a', '..', '/', '#', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0'],
  ...['Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Content-Length: 99999999999999999999\r\n'],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: x\r\n',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    'ffffffffffffffff\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: h2c\r\n',
    'Host: b\r\n',
  ],
  'GET /adaptor/777/inserted HTTP/1.1\r\nHost: a\r\n\r\n',
];

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 40 }),
  kind: fc.constantFrom('delete', 'repeat', 'insert', 'insert', 'replace', 'replace', 'flip', 'cut'),
  what: fc.constantFrom(...pieces),
});

export const mutations = fc.array(mutation, { minLength: 1, maxLength: 4 });

export function mutate(bytes: Buffer, steps: readonly Mutation[]): Buffer {
  return steps.reduce(apply, bytes);
}

function apply(bytes: Buffer, { at, length, kind, what }: Mutation): Buffer {
  const from = Math.floor(at * bytes.length);
  const piece = Buffer.from(what, 'latin1');
  const before = bytes.subarray(0, from);
  const there = bytes.subarray(from, from + length);
  const behind = bytes.subarray(from + length);
  switch (kind) {
    case 'delete':
      return Buffer.concat([before, behind]);
    case 'repeat':
      return Buffer.concat([before, there, there, behind]);
    case 'insert':
      return Buffer.concat([before, piece, there, behind]);
    case 'replace':
      return Buffer.concat([before, piece, behind]);
    case 'flip':
      return Buffer.concat([before, there.map((byte) => byte ^ (1 << (length % 8))), behind]);
    case 'cut':
      return Buffer.from(before);
  }
}
