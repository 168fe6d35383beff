// Tests of the comparison of shown and real output: which parts may differ from run to run, and which may not.

import { describe, expect, it } from 'vitest';
import { differenceOf } from './compare-output.ts';

const [one, two, three] = ['1', '2', '3'].map((digit) => `0d327b12-714b-4246-8a2f-ea620dc42db${digit}`);
const compare = (language: string, shown: string, real: string) =>
  differenceOf(shown, real, { language, ids: new Map() });

describe('accepts', () => {
  it.each([
    ['another duration, and the width of its column', 'text', 'took    state\n694 ms  ok\n', 'took   state\n12 ms  ok'],
    ['a dash in place of a duration, and vice versa', 'text', 'a  -  3 ms', 'a  2 ms  -'],
    ['another time', 'text', 'at 2026-11-23T06:52:29Z', 'at 2027-01-01T00:00:00.123Z'],
    ['another id', 'text', `id ${one}`, `id ${two}`],
    ['the same id in two places', 'text', `${one} ${one}`, `${two} ${two}`],
    ['a part that is left out', 'text', '{"a":1, ...}', '{"a":1,"b":2}'],
    ['JSON with another layout', 'json', '{\n  "a": 1\n}', '{"a":1}'],
    ['a header field that is not shown', 'http', 'HTTP/1.1 200 OK\n\nx', 'HTTP/1.1 200 OK\r\nx-a: 1\r\n\r\nx'],
    ['a header field in lower case', 'http', 'HTTP/1.1 200 OK\nX-A: 1', 'HTTP/1.1 200 OK\r\nx-a: 1\r\n\r\nx'],
  ])('%s', (_title, language, shown, real) => expect(compare(language, shown, real)).toBeUndefined());
});

describe('reports', () => {
  it.each([
    ['another word', 'text', 'added', 'changed'],
    ['another number', 'text', '2 to add', '3 to add'],
    ['one more line', 'text', 'a', 'a\nb'],
    ['two ids where one is shown twice', 'text', `${one} ${one}`, `${two} ${three}`],
    ['another value', 'json', '{"a":1}', '{"a":2}'],
    ['a header field that is missing', 'http', 'HTTP/1.1 200 OK\nx-a: 1', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['another status', 'http', 'HTTP/1.1 200 OK', 'HTTP/1.1 404 Not Found\r\n\r\n'],
    ['another body', 'http', 'HTTP/1.1 200 OK\n\na', 'HTTP/1.1 200 OK\r\n\r\nb'],
  ])('%s', (_title, language, shown, real) => expect(compare(language, shown, real)).toBeDefined());
});
