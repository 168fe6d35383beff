// Tests of editing property files: values can be read back, and nothing else changes.

import { getProperties } from 'properties-file';
import { expect, it } from 'vitest';
import { setProperties } from '../../../cli/edit/property-file.ts';
import { anyText, fc } from '../../run/properties.ts';

it('puts a new key after related keys, and keeps comments, order and blank lines', () => {
  const text =
    '# addresses\nadaptor.001.url=http://a\n! domain\nadaptor.002.domain = 002\n\n# movies\nmovies.url=http://m\n';
  expect(setProperties(text, { 'adaptor.003.url': 'http://host:8084/x', 'students.url': 'http://s' })).toBe(
    '# addresses\nadaptor.001.url=http://a\n! domain\nadaptor.002.domain = 002\nadaptor.003.url=http://host:8084/x\n\n# movies\nmovies.url=http://m\nstudents.url=http://s\n',
  );
});

it('replaces the value of a key in place; for a repeated key, replaces the last value', () => {
  expect(setProperties('a=1\na : long \\\n  line\nb=2', { a: 'x' })).toBe('a=1\na=x\nb=2\n');
});

it('keeps the line endings of the file', () => {
  expect(setProperties('a.b=1\r\n\r\n# end\r\n', { 'a.c': '2', d: '3' })).toBe(
    'a.b=1\r\na.c=2\r\n\r\n# end\r\nd=3\r\n',
  );
  const mixed = 'a.b=1\r\nb=2\nc=3\rd=4';
  expect(setProperties(mixed, { 'a.c': '2' })).toMatch(/^a\.b=1\r\na\.c=2\r?\nb=2\nc=3\rd=4\r?\n$/);
});

it('sets values that can be read back, and leaves all others unchanged', () => {
  // The key __proto__ is lost when a file is read into an object.
  const key = fc.stringMatching(/^[!-~]{1,12}$/).filter((name) => name !== '__proto__');
  const value = anyText({ maxLength: 12 });
  const entries = fc.dictionary(key, value, { maxKeys: 6 });
  fc.assert(
    fc.property(entries, entries, (before, set) => {
      const text = setProperties('# head\n', before);
      expect(getProperties(setProperties(text, set))).toEqual({ ...before, ...set });
    }),
  );
});
