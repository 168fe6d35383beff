// Tests of `traceparent`: which values are valid, and that the field is sent unencrypted beside the request and leaves
// the request unchanged.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isTraceparent, traceparentOf } from '#lib/envelope/traceparent.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

it.each([
  [traceparent, true],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00', true],
  ['00-00000000000000000000000000000000-00f067aa0ba902b7-01', false],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01', false],
  ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', false],
  ['00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01', false],
  [`${traceparent}-more`, false],
  [`${traceparent}\n`, false],
  ['', false],
  [undefined, false],
  [[traceparent], false],
])('%j is valid: %s', (value, expected) => {
  expect(isTraceparent(value)).toBe(expected);
});

describe.each([
  ['in plain text', {}],
  ['encrypted', { 'payload.key': `k:${randomBytes(32).toString('base64')}` }],
])('a request %s', (_title, keys) => {
  const codec = createPayloadCodec({ 'payload.decryptionKeys': [], 'payload.key': undefined, ...keys });
  const request = {
    ...{ httpMethod: 'GET', path: '/x', query: undefined, params: {}, headers: {}, requestId: 'r-1' },
    ...{ clientId: 'demo', route: 'movies', body: Buffer.alloc(0) },
  };

  it('with a traceparent: is unpacked unchanged, and the traceparent stays readable', () => {
    const inbound = codec.packInbound({ ...request, traceparent }, []);
    expect(traceparentOf({ inbound })).toBe(traceparent);
    expect(codec.unpackInbound(inbound)).toMatchObject({ httpMethod: 'GET', path: '/x', requestId: 'r-1' });
  });

  it('without a traceparent: gets none', () => {
    const inbound = codec.packInbound(request, []);
    expect(inbound).not.toHaveProperty('traceparent');
    expect(traceparentOf({ inbound })).toBeUndefined();
  });
});
