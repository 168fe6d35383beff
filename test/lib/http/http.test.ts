// Tests of the properties of HTTP methods and status codes, and of percent-encoding.

import { describe, expect, it } from 'vitest';
import { isSafeMethod } from '#lib/http/methods.ts';
import { decodeSegment, encodeRawBytes } from '#lib/http/percent-encoding.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';

describe('isSafeMethod', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'TRACE'])('%s is safe', (method) => expect(isSafeMethod(method)).toBe(true));

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'get', 'PROPFIND', '', undefined])('%s is not safe', (method) =>
    expect(isSafeMethod(method)).toBe(false),
  );
});

describe('isRetryableStatus', () => {
  it.each([408, 425, 429, 500, 501, 503, 599])('%i is retryable', (status) =>
    expect(isRetryableStatus(status)).toBe(true),
  );

  it.each([200, 304, 400, 401, 404, 409, 499])('%i is not retryable', (status) =>
    expect(isRetryableStatus(status)).toBe(false),
  );
});

describe('percent-encoding', () => {
  it('encodes the raw bytes of a target, and nothing else', () => {
    const received = Buffer.from('/é/%c3%a9?q=✓').toString('latin1');
    expect(encodeRawBytes(received)).toBe('/%C3%A9/%c3%a9?q=%E2%9C%93');
  });

  it.each([
    ['a%20%C3%A9', 'a é'],
    ['%ff', '%ff'],
    ['100%', '100%'],
  ])('decodes the segment %s to %s', (segment, text) => expect(decodeSegment(segment)).toBe(text));
});
