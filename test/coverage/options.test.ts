// Tests of the options of `npm run coverage`: those that would check nothing are refused.

import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.ts';

const files = ['lib/a.ts', 'plugins/conductor/b.ts', 'plugins/conductor/dispatch/c.ts'];

describe('the options', () => {
  it('none: no folder, no threshold', () => {
    expect(parseOptions([], files)).toEqual({ folders: [], least: 0, vitestArguments: [], help: false });
  });

  it.each(['plugins/conductor', 'plugins/conductor/', './plugins/conductor//', 'lib/../plugins/conductor'])(
    'the folder %s: normalised',
    (folder) => {
      const args = ['--folder', folder, '--least', '99.5', '--', '--project', 'unit'];
      const expected = { folders: ['plugins/conductor'], least: 99.5, vitestArguments: ['--project', 'unit'] };
      expect(parseOptions(args, files)).toMatchObject(expected);
    },
  );

  it.each([
    ['a folder without a file', ['--folder', 'plugins/conductr', '--least', '90'], 'plugins/conductr has no file'],
    ['a folder without a file, beside another folder', ['--folder', 'lib', '--folder', 'libs'], 'libs has no file'],
    ['a prefix of the name of a folder', ['--folder', 'plugins/cond'], 'plugins/cond has no file'],
    ['a percentage that is not a number', ['--folder', 'lib', '--least', 'abc'], 'a number from 0 to 100, not abc'],
    ['an empty percentage', ['--folder', 'lib', '--least', ''], 'a number from 0 to 100'],
    ['a percentage above 100', ['--folder', 'lib', '--least', '101'], 'a number from 0 to 100, not 101'],
    ['a negative percentage', ['--folder', 'lib', '--least=-1'], 'a number from 0 to 100, not -1'],
    ['a percentage without a folder', ['--least', '90'], '--least needs --folder'],
  ])('%s: throws', (_title, args, message) => {
    expect(() => parseOptions(args, files)).toThrow(message);
  });
});
