// Tests of encoding strings: decoding returns the original, and the engine sees no characters that it would change.

import { describe, expect, it, test } from 'vitest';
import { decodeText, encodeText, isSafeText } from '#lib/envelope/text.ts';

describe('a text that the engine stores unchanged', () => {
  test.each(['', 'ABL0199', 'Zoë 💡', '$ {x} \\u0000 "', '\n\u001b\uffff'])('%j → unchanged', (text) => {
    expect(encodeText(text)).toBe(text);
  });
});

describe('a text that the engine would change or cannot store', () => {
  test.each(['\0', 'A\0B', '${x}', '\\${x}', '$${${x}}', '${', '\ud800', 'x\udc00y', '\ud83d"', '\\\0${\ud800'])(
    '%j → encoded as a safe text, and unchanged after decoding',
    (text) => {
      const encoded = encodeText(text);
      if (typeof encoded === 'string') throw new Error('the text is not encoded');
      expect(isSafeText(encoded.json)).toBe(true);
      expect(decodeText(encoded.json)).toBe(text);
    },
  );
});

it.each(['', 'text', '1', '{"a":"secret"}'])('%j is not a JSON string → an error that does not quote it', (json) => {
  expect(() => decodeText(json)).toThrow(new TypeError('an encoded text is not a JSON string'));
});
