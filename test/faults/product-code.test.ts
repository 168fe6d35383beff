// Tests which changes to the product's code make the results of the fault cases invalid.

import { expect, it } from 'vitest';
import { productCode, withoutComments } from './product-code.ts';

it('identifies the code by twelve hexadecimal digits, the same each time', () => {
  const code = productCode();
  expect(code).toMatch(/^[0-9a-f]{12}\+?$/);
  expect(productCode()).toBe(code);
});

it.each([
  ['a comment', 'a.ts', '// One.\nconst a = 1;\n', '/** Two. */\nconst a = 1;\n'],
  ['a comment at the end of a line', 'a.ts', 'const a = 1; // One.\n', 'const a = 1;\n'],
  ['a comment in settings', 'a.properties', '# One.\na=1\n', '# Two.\n# Three.\na=1\n'],
  ['a Markdown page', 'README.md', 'One.', 'Two.'],
])('a change to %s leaves results valid', (_, file, one, other) => {
  expect(withoutComments(file, one)).toBe(withoutComments(file, other));
});

it.each([
  ['a value', 'a.ts', 'const a = 1;\n', 'const a = 2;\n'],
  ['a string that looks like a comment', 'a.ts', "const a = '// One.';\n", "const a = '// Two.';\n"],
  ['a pattern that looks like a comment', 'a.ts', 'const a = /\\/\\/ one/;\n', 'const a = /\\/\\/ two/;\n'],
  ['a value in settings', 'a.yml', 'a: 1 # One.\n', 'a: 2 # One.\n'],
  ['a definition', 'a.json', '{ "a": 1 }', '{ "a": 2 }'],
])('a change to %s makes results invalid', (_, file, one, other) => {
  expect(withoutComments(file, one)).not.toBe(withoutComments(file, other));
});
