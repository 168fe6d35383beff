// Tests of parsing JSON text: errors, duplicate keys and paths are reported with line and column.

import { describe, expect, it } from 'vitest';
import { formatPath, locate, parseJsonText } from '#lib/conductor/definitions/json-text.ts';

describe('JSON text', () => {
  it.each([
    ['a trailing comma', '{\n  "a": 1,\n}', { line: 3, column: 1 }],
    ['a bare word', '{\n  "a": x\n}', { line: 2, column: 8 }],
    ['an unexpected end', '{\n  "a": 1', { line: 2, column: 9 }],
    ['nothing at all', '', { line: 1, column: 1 }],
    ['a comment', '{\n  // note\n  "a": 1\n}', { line: 2, column: 3 }],
    ['single quotes', "{ 'a': 1 }", { line: 1, column: 3 }],
    ['two values', '{}\n{}', { line: 2, column: 1 }],
    ['a key given twice', '{\n  "a": 1,\n  "a": 2\n}', { line: 3, column: 3 }],
    ['a nested key given twice', '{ "b": [\n{ "a": 1, "a": 2 }] }', { line: 2, column: 11 }],
  ])('%s: reported with its line and column', (_what, text, at) => {
    expect(parseJsonText(text)).toMatchObject({ at });
  });

  it('a valid text: returns its value', () => {
    expect(parseJsonText('{"a":[1,{"b":null}]}')).toEqual({ value: { a: [1, { b: null }] } });
  });

  it('a message: says what is wrong without repeating the text', () => {
    expect(parseJsonText('{"a": x}')).toMatchObject({ message: "Unexpected token 'x'" });
    expect(parseJsonText('{"a": 1,}')).toMatchObject({ message: 'Expected double-quoted property name' });
  });

  it('a path: located at its value, or at the nearest existing parent', () => {
    const text = '{\n  "a": [\n    { "b": 1 }\n  ]\n}';
    expect(locate(text, ['a', 0, 'b'])).toEqual({ line: 3, column: 12 });
    expect(locate(text, ['a', 0, 'missing'])).toEqual({ line: 3, column: 5 });
    expect(locate(text, ['nowhere'])).toEqual({ line: 1, column: 1 });
  });

  it('a path: formatted as in JavaScript', () => {
    expect(formatPath(['tasks', 1, 'loopOver', 0, 'sink'])).toBe('tasks[1].loopOver[0].sink');
    expect(formatPath([])).toBe('');
  });
});
