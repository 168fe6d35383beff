// Tests of compression: which responses are compressed, how, and which stay as the back end sent them.

import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { chooseCoding, type Coding, varyBy } from '../../../../gateway/plugin-api/content-coding.ts';
import { compressResponse } from '../../../../plugins/conductor/execution/compress-response.ts';

const body = Buffer.from(JSON.stringify({ text: 'a film about a film. '.repeat(200) }));
const json = { 'content-type': 'application/json' };
const answer = (headers: BackEndResponse['headers'] = {}, status = 200): BackEndResponse => ({
  status,
  headers: { ...json, ...headers },
  body,
});

const compress = (response: BackEndResponse, coding: Coding | undefined, overBytes = 1_024) =>
  compressResponse(response, { method: 'GET', coding }, { overBytes });

describe('the coding', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity, gzip;q=0.2', undefined],
    ['GZIP', 'gzip'],
    ['deflate, compress', undefined],
    [';;;,,q=1', undefined],
    ['gzip;q=abc', undefined],
  ])('Accept-Encoding: %s → %s', (field, coding) => {
    const headers = field === undefined ? {} : { 'accept-encoding': field };
    expect(chooseCoding({ headers })).toBe(coding);
  });
});

describe('a response', () => {
  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('in %s: the same bytes when decoded, with Content-Encoding and Vary', async (coding, decode) => {
    const compressed = await compress(answer(), coding);
    expect(compressed.headers).toEqual({ ...json, 'content-encoding': coding, vary: 'Accept-Encoding' });
    expect(decode(compressed.body).equals(body)).toBe(true);
    expect(compressed.body.length).toBeLessThan(body.length / 4);
  });

  it('that the client does not want compressed keeps its bytes and gets Vary, for caches', async () => {
    const plain = await compress(answer({ vary: 'Accept' }), undefined);
    expect(plain).toEqual({ ...answer(), headers: { ...json, vary: 'Accept, Accept-Encoding' } });
  });

  it('with a weak ETag keeps it, because a weak ETag does not promise identical bytes', async () => {
    const { headers } = await compress(answer({ etag: 'W/"1"' }), 'br');
    expect(headers).toMatchObject({ etag: 'W/"1"', 'content-encoding': 'br' });
  });

  it.each<[string, BackEndResponse]>([
    ['that is not larger than the limit', { ...answer(), body: body.subarray(0, 1_024) }],
    ['with a strong ETag', answer({ etag: '"1"' })],
    ['that the back end compressed', answer({ 'content-encoding': 'gzip' })],
    ['with Cache-Control: no-transform', answer({ 'cache-control': 'public, No-Transform' })],
    ['that is a partial response', answer({ 'content-range': 'bytes 0-9/10' }, 206)],
    ['whose parts can be requested', answer({ 'accept-ranges': 'bytes' })],
    ['with a digest of its bytes', answer({ 'repr-digest': 'sha-256=:x=:' })],
    ['with status 304', answer({}, 304)],
    ['of a type that is already compressed', answer({ 'content-type': 'image/png' })],
    ['without a type', { status: 200, headers: {}, body }],
  ])('%s → unchanged', async (_title, given) => {
    expect(await compress(given, 'br')).toEqual(given);
  });

  it('that would become larger keeps its bytes', async () => {
    const noise = randomBytes(2_000);
    const given = { ...answer({ 'content-type': 'text/plain' }), body: noise };
    const { body: kept, headers } = await compress(given, 'gzip', 0);
    expect(kept).toBe(noise);
    expect(headers).toEqual({ 'content-type': 'text/plain', vary: 'Accept-Encoding' });
  });
});

it.each([
  [undefined, 'Accept-Encoding'],
  ['Accept', 'Accept, Accept-Encoding'],
  ['accept-encoding', 'accept-encoding'],
  [['Accept', 'Origin'], 'Accept, Origin, Accept-Encoding'],
  ['*', '*'],
])('Vary: %s → %s', (given, expected) => {
  expect(varyBy(given, 'Accept-Encoding')).toBe(expected);
});
