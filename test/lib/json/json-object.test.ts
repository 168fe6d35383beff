// Tests of parsing JSON objects, with and without rounding numbers.

import { describe, expect, it } from 'vitest';
import { parseJsonObject, readJsonObject } from '#lib/json/json-object.ts';

const noObjects = ['', '\ufeff{}', 'null', '1', '"text"', '[{}]', '{"a":', '\u00e9'];

describe('parseJsonObject', () => {
  it('keeps the digits of numbers at every depth', () => {
    const json = '{"key":12345678901234567890,"nested":{"values":[1.50,-0]},"text":"12","none":null}';
    expect(parseJsonObject(json)).toEqual({
      key: '12345678901234567890',
      nested: { values: ['1.50', '-0'] },
      text: '12',
      none: null,
    });
  });

  it('replaces numbers with the values that the callback returns', () => {
    expect(parseJsonObject(Buffer.from('{"a":1,"b":"1"}'), (digits) => `number ${digits}`)).toEqual({
      a: 'number 1',
      b: '1',
    });
  });

  it.each(noObjects)('returns null for %j', (json) => expect(parseJsonObject(Buffer.from(json))).toBeNull());
});

describe('readJsonObject', () => {
  it('returns what JSON.parse returns', () => {
    expect(readJsonObject(Buffer.from('{"a":1.50,"é":[{}]}'))).toEqual({ a: 1.5, é: [{}] });
  });

  it.each(noObjects)('returns null for %j', (json) => expect(readJsonObject(json)).toBeNull());
});
