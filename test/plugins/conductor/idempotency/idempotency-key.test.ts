// Tests of `Idempotency-Key`: which values are keys, and the name that is derived from a client and a key.

import { fc } from '../../../run/properties.ts';
import { describe, expect, it } from 'vitest';
import { idempotencyKeyOf, nameOfKey } from '../../../../plugins/conductor/idempotency/idempotency-key.ts';

const read = (...fields: string[]) => idempotencyKeyOf({ headersDistinct: { 'idempotency-key': fields } });

describe('idempotencyKeyOf', () => {
  it('no header field: no key', () => {
    expect(idempotencyKeyOf({ headersDistinct: {} })).toBeUndefined();
  });

  it.each([
    ['8e03978e-40d5-43e8-bc93-6894a57f9324', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['"a key \\"with\\" \\\\"', 'a key "with" \\'],
    ['a,b', 'a,b'],
    ['k'.repeat(255), 'k'.repeat(255)],
    [`"${'k'.repeat(255)}"`, 'k'.repeat(255)],
  ])('%s → %s', (field, key) => {
    expect(read(field)).toBe(key);
  });

  it.each([
    '',
    '""',
    'a b',
    'a\tb',
    '"a',
    'a"b"c d',
    '"a"b',
    '"a\\b"',
    '"\u00e9"',
    'k\u0000',
    'k'.repeat(256),
    `"${'k'.repeat(256)}"`,
  ])('%j → 400', (field) => {
    expect(() => read(field)).toThrow(expect.objectContaining({ code: 'malformed-idempotency-key', status: 400 }));
  });

  it('two fields → 400', () => {
    expect(() => read('a', 'a')).toThrow(expect.objectContaining({ status: 400 }));
  });

  it('any field gives a key of 1 to 255 characters, or 400', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (field) => {
        try {
          expect(read(field)).toMatch(/^[\x20-\x7e]{1,255}$/);
        } catch (error) {
          expect(error).toMatchObject({ status: 400 });
        }
      }),
    );
  });
});

describe('nameOfKey', () => {
  it('differs for every client and every key, and shows neither', () => {
    const pair = fc.tuple(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }));
    fc.assert(
      fc.property(pair, pair, ([client, key], [otherClient, otherKey]) => {
        const same = client === otherClient && key === otherKey;
        expect(nameOfKey(client, key) === nameOfKey(otherClient, otherKey)).toBe(same);
        expect(nameOfKey(client, key)).toMatch(/^idempotency-[0-9a-f]{64}$/);
      }),
    );
  });
});
