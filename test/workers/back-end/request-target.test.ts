// Tests of request targets, which are joined as strings, never normalised, and never outside the base URL.

import { describe, expect, test } from 'vitest';
import { hasDotSegment } from '#lib/http/dot-segments.ts';
import { createTarget } from '../../../workers/back-end/request-target.ts';
import { TaskFailure } from '../../../workers/task-failure.ts';

describe('createTarget', () => {
  test.each([
    ['http://h:1', '/a', undefined, '/a'],
    ['http://h:1/', '/a', undefined, '/a'],
    ['http://h:1/base/', '/a', '', '/base/a?'],
    ['http://h:1/base', '', undefined, '/base'],
    ['http://h:1', '', undefined, '/'],
    ['http://h:1', '', 'x=1', '/?x=1'],
    ['http://h:1/b', '/a%2Fb/?x=&x=1', undefined, '/b/a%2Fb/?x=&x=1'],
    ['http://h:1', '//evil.example/x', undefined, '//evil.example/x'],
    ['http://h:1/b', '/%7Euser/%e4;p=1/@x:y', 'q=a+b%20c&&=', '/b/%7Euser/%e4;p=1/@x:y?q=a+b%20c&&='],
  ])('base %s, path %s, query %s → %s', (...[base, path, query, pathAndQuery]) => {
    expect(createTarget(base, path, query)).toEqual({ origin: 'http://h:1', pathAndQuery });
  });

  test.each([
    '/..',
    '/a/../b',
    '/./a',
    '/%2e%2e/x',
    '/.%2E',
    '/a/..%2f..%2fetc',
    '/..%5cx',
    '/..\\x',
    '/..;v=1/x',
    '/..%3Bx',
    '/%252e%252e',
  ])('dot segments in %s → rejected', (path) => {
    expect(() => createTarget('http://h:1/base', path)).toThrow(TaskFailure);
  });

  test.each(['/a..b', '/...', '/.well-known/x', '/a.', '/%2e%2e%2e'])('%s is not a dot segment', (path) => {
    expect(hasDotSegment(path)).toBe(false);
  });

  test.each(['x', '@evil.example/', ' /a', '/a b', '/a\r\nx: y', '/\u0000', '/\u20ac'])(
    'path %j is not valid in a request line → rejected',
    (path) => {
      expect(() => createTarget('http://h:1', path)).toThrow(TaskFailure);
    },
  );

  test('accepts dots in a query', () => {
    expect(createTarget('http://h:1', '/a', 'next=/../b').pathAndQuery).toBe('/a?next=/../b');
  });
});
