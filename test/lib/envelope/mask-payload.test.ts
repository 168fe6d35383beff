// Tests of masked payloads: they show only the structure and the fields without personal data.

import { fc } from '../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import { maskPayload } from '#lib/envelope/mask-payload.ts';

describe('maskPayload', () => {
  it('shows fields without personal data, the type and length of other texts, and the type of other numbers', () => {
    const inbound = {
      httpMethod: 'PATCH',
      path: '/persons/B00417733',
      params: { mis: '001', title: 'Ada' },
      headers: { 'content-type': 'application/json' },
      requestId: 'd313f199-0629-49b5-b7d1-d3b5ba375743',
      body: '{"cccid":"ABC1234"}',
      isEmpty: false,
      nothing: null,
      age: 41,
    };
    expect(maskPayload({ inbound, outbound: { statusCodeValue: 200 }, list: ['x', 'yy'] })).toEqual({
      inbound: {
        httpMethod: 'PATCH',
        path: '‹text, length 18›',
        params: { mis: '001', title: '‹text, length 3›' },
        headers: { 'content-type': '‹text, length 16›' },
        requestId: 'd313f199-0629-49b5-b7d1-d3b5ba375743',
        body: '‹text, length 19›',
        isEmpty: false,
        nothing: null,
        age: '‹number›',
      },
      outbound: { statusCodeValue: 200 },
      list: ['‹text, length 1›', '‹text, length 2›'],
    });
  });

  it('masks a known field whose value has an unexpected form', () => {
    expect(maskPayload({ clientId: 'Ada Lovelace', route: { name: 'Ada' }, misCode: 'ada@example.org' })).toEqual({
      clientId: '‹text, length 12›',
      route: { name: '‹text, length 3›' },
      misCode: '‹text, length 15›',
    });
  });

  it('masks fields that are named like members of Object.prototype', () => {
    expect(maskPayload({ toString: 'x', constructor: 1 })).toEqual({
      toString: '‹text, length 1›',
      constructor: '‹number›',
    });
  });

  it('masks field names that may be personal data', () => {
    const masked = maskPayload({ 'ada@example.org': 1, B00417733: 2, ABC1234: 3, 'a b': 4 });
    expect(masked).toEqual({
      '‹name 1›': '‹number›',
      '‹name 2›': '‹number›',
      '‹name 3›': '‹number›',
      '‹name 4›': '‹number›',
    });
  });

  it('truncates long or deeply nested values', () => {
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 1]));
    expect(Object.keys(maskPayload(wide) as object)).toHaveLength(26);
    expect(maskPayload(Array.from({ length: 100 }, () => 'x'))).toHaveLength(26);
    const deep = Array.from({ length: 50 }).reduce<unknown>((value) => ({ value }), 'secret');
    expect(JSON.stringify(maskPayload(deep))).toContain('‹…›');
  });

  it('never shows a string of a field that may contain personal data', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(maskPayload({ value: ['needle', value], inner: { needle2: 'needle', value } }));
        expect(text).not.toContain('"needle"');
        expect(() => JSON.parse(text) as unknown).not.toThrow();
      }),
    );
  });
});
