// Tests of the output of the CLI: when it is coloured, how text is escaped, and how columns are aligned.

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { fitStream, paint, printable, widthOf } from '../../cli/output/colours.ts';
import { alignColumns, formatTable } from '../../cli/output/table.ts';

const terminal = Object.assign(new PassThrough(), { isTTY: true });
const environment = { TERM: 'xterm-256color' };

describe('colours', () => {
  const lines = [paint('added', '+ new'), 'plain'];

  it('a pipe or a file: the text alone', () => {
    expect(fitStream(lines, new PassThrough(), environment)).toBe('+ new\nplain\n');
  });

  it('a terminal: coloured', () => {
    expect(fitStream(lines, terminal, environment)).toBe('\x1b[32m+ new\x1b[39m\nplain\n');
  });

  it.each([{ NO_COLOR: '1', TERM: 'xterm-256color' }, { TERM: 'dumb' }])('a terminal with %j: the text alone', (env) =>
    expect(fitStream(lines, terminal, env)).toBe('+ new\nplain\n'),
  );

  it('a pipe with FORCE_COLOR: coloured', () => {
    expect(fitStream(lines, new PassThrough(), { FORCE_COLOR: '1' })).toBe('\x1b[32m+ new\x1b[39m\nplain\n');
  });

  it('untrusted text: control characters are escaped', () => {
    expect(printable('red\x1b[31m\r\n\x9b2Jalert\x07')).toBe('red\\u001b[31m\\u000d\\u000a\\u009b2Jalert\\u0007');
    expect(printable('Zoë 漢字')).toBe('Zoë 漢字');
  });
});

describe('columns', () => {
  it('coloured cells: aligned by their visible width', () => {
    const rows = [
      [paint('bad', 'no'), 'x'],
      ['maybe', 'y'],
      ['', 'z'],
    ];
    expect(alignColumns(rows).map((row) => row.replaceAll(/\x1b\[\d+m/g, ''))).toEqual([
      'no     x',
      'maybe  y',
      '       z',
    ]);
    expect(widthOf(paint('heading', 'abc'))).toBe(3);
  });

  it('a table: column names above the rows, and no trailing spaces', () => {
    const [head = '', row] = formatTable(['route', 'method'], [['movies', 'GET']]);
    expect(head.replaceAll(/\x1b\[\d+m/g, '')).toBe('route   method');
    expect(row).toBe('movies  GET');
  });

  it('more rows than a function can take as arguments: aligned', () => {
    const rows = Array.from({ length: 150_000 }, (_, at) => [`row ${at}`, 'x']);
    expect(alignColumns(rows).at(0)).toBe('row 0       x');
  });
});
