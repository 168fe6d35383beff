// Tests of removing content codings and byte order marks from bodies.

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readableBody } from '#lib/http/readable-body.ts';

const json = Buffer.from('{"a":1}');
const read = (body: Buffer, coding?: string, maxBytes = 1_000) =>
  readableBody({ headers: coding === undefined ? {} : { 'content-encoding': coding }, body }, maxBytes);

it.each([
  ['no coding', json, undefined],
  ['identity', json, 'identity'],
  ['gzip', gzipSync(json), 'gzip'],
  ['x-gzip, in capitals', gzipSync(json), 'X-GZIP'],
  ['deflate', deflateSync(json), 'deflate'],
  ['br', brotliCompressSync(json), 'br'],
  ['two codings', brotliCompressSync(gzipSync(json)), 'gzip, br'],
  ['a byte order mark', Buffer.concat([Buffer.from('\ufeff'), json]), undefined],
  ['a byte order mark in gzip', gzipSync(Buffer.concat([Buffer.from('\ufeff'), json])), 'gzip'],
])('%s → the plain JSON', (_name, body, coding) => expect(read(body, coding)).toEqual(json));

it.each([
  ['a damaged body', json, 'gzip'],
  ['an unknown coding', json, 'zstd'],
  ['a coding named like a property of every object', json, 'constructor'],
])('%s → unchanged', (_name, body, coding) => expect(read(body, coding)).toBe(body));

it('a body that would be too large, or more than three codings → unchanged', () => {
  const large = gzipSync(Buffer.alloc(1_001));
  expect(read(large, 'gzip')).toBe(large);
  const nested = gzipSync(gzipSync(gzipSync(gzipSync(json))));
  expect(read(nested, 'gzip, gzip, gzip, gzip')).toBe(nested);
});
