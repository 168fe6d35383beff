// Tests of shortening strings in any JSON, in chunks of any size: the result is JSON, short strings are unchanged, and
// long strings keep their beginning.

import { fc } from '../../run/properties.ts';
import { expect, it } from 'vitest';
import { isCut, StringShortener } from '#lib/conductor/shorten-strings.ts';

const longest = 12;

function shorten(bytes: Buffer, pieceBytes: number): Buffer {
  const shortener = new StringShortener(longest);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    pieces.push(shortener.push(bytes.subarray(at, at + pieceBytes)));
  return Buffer.concat(pieces);
}

/** Expects each string of `value` to equal that of `original`, or to be a long enough beginning of it. */
function expectShortened(value: unknown, original: unknown): void {
  if (typeof original === 'string') {
    const text = value as string;
    if (Buffer.byteLength(JSON.stringify(original)) - 2 <= longest || text === original)
      return expect(text).toBe(original);
    expect(isCut(text)).toBe(true);
    const left = text.slice(0, -1);
    expect(original.startsWith(left)).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(left)) - 2).toBeGreaterThanOrEqual(longest);
    return;
  }
  if (typeof original !== 'object' || original === null) return expect(value).toEqual(original);
  if (Array.isArray(original))
    return original.forEach((item, index) => expectShortened((value as unknown[])[index], item));
  for (const [key, item] of Object.entries(original)) expectShortened((value as Record<string, unknown>)[key], item);
}

/** Any JSON; the test that uses it skips documents with long strings. */
const documents = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as unknown);
const texts = fc.string({ unit: 'grapheme', maxLength: 80 });

it('shortens any document, in pieces of any size', () => {
  fc.assert(
    fc.property(
      // Keys are short, because two long keys with the same beginning would become one.
      fc.array(fc.record({ a: texts, b: fc.array(texts), c: fc.double({ noNaN: true, noDefaultInfinity: true }) })),
      fc.integer({ min: 1, max: 30 }),
      (value, pieceBytes) => {
        const original = JSON.parse(JSON.stringify(value)) as unknown;
        expectShortened(
          JSON.parse(shorten(Buffer.from(JSON.stringify(original)), pieceBytes).toString('utf8')),
          original,
        );
      },
    ),
  );
});

it('documents without long strings: no byte is changed', () => {
  fc.assert(
    fc.property(documents, fc.integer({ min: 1, max: 30 }), (value, pieceBytes) => {
      const bytes = Buffer.from(JSON.stringify(value));
      // The length of an escape sequence is that of its source text.
      const strings = bytes.toString('latin1').match(/"(?:[^"\\]|\\.)*"/g) ?? [];
      fc.pre(strings.every((text) => text.length - 2 <= longest));
      expect(shorten(bytes, pieceBytes).equals(bytes)).toBe(true);
    }),
  );
});

it.each([
  ['an escape sequence at the limit', '"12345678901\\u00e9rest"', '"12345678901\\u00e9…"'],
  ['a quote that is escaped', '"12345678901\\"rest"', '"12345678901\\"…"'],
  ['a backslash at the end', '"123456789012\\\\"', '"123456789012…"'],
  ['a character of several bytes', '"12345678901é rest"', '"12345678901é…"'],
])('%s is not split', (_what, text, left) => {
  for (const pieceBytes of [1, 2, 5, 100]) expect(shorten(Buffer.from(text), pieceBytes).toString('utf8')).toBe(left);
});
