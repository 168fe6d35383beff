// Tests of the properties of HTTP methods and status codes, and of percent-decoding.

import { describe, expect, it } from 'vitest';
import { isSafeMethod } from '#lib/http/methods.ts';
import { decodeSegment } from '#lib/http/percent-encoding.ts';
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

describe('decodeSegment', () => {
  it.each([
    ['a%20%C3%A9', 'a é'],
    ['%ff', '%ff'],
    ['100%', '100%'],
  ])('decodes the segment %s to %s', (segment, text) => expect(decodeSegment(segment)).toBe(text));
});
