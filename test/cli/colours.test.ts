import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fitStream, paint, printable, widthOf } from '../../cli/colours.ts';
import { alignColumns, formatTable } from '../../cli/table.ts';

/** What a terminal is to those who ask: a stream that says so and knows its colours. */
function terminal(): NodeJS.WritableStream {
  const stream = Object.assign(new PassThrough(), { isTTY: true });
  return Object.assign(stream, { getColorDepth: (env?: object) => WriteStream.prototype.getColorDepth(env) });
}

afterEach(() => vi.unstubAllEnvs());
const asOnTerminal = (variables: Record<string, string | undefined>) => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'CI', 'TERM', 'COLORTERM']) {
    vi.stubEnv(name, variables[name]);
  }
};

describe('colours', () => {
  const lines = [paint('added', '+ new'), 'plain'];

  it('a pipe or a file: the text alone', () => {
    asOnTerminal({ TERM: 'xterm-256color' });
    expect(fitStream(lines, new PassThrough())).toBe('+ new\nplain\n');
  });

  it('a terminal: coloured', () => {
    asOnTerminal({ TERM: 'xterm-256color' });
    expect(fitStream(lines, terminal())).toBe('\x1b[32m+ new\x1b[39m\nplain\n');
  });

  it.each([{ NO_COLOR: '1', TERM: 'xterm-256color' }, { TERM: 'dumb' }])(
    'a terminal with %j: the text alone',
    (env) => {
      asOnTerminal(env);
      expect(fitStream(lines, terminal())).toBe('+ new\nplain\n');
    },
  );

  it('text of others: what a terminal would obey is spelled out', () => {
    expect(printable('red\x1b[31m\r\n\x9b2Jalert\x07')).toBe('red\\u001b[31m\\u000d\\u000a\\u009b2Jalert\\u0007');
    expect(printable('Zoë 漢字')).toBe('Zoë 漢字');
  });
});

describe('columns', () => {
  it('painted cells: aligned by what is seen', () => {
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

  it('a table: its columns named above its rows, nothing at the end of a line', () => {
    const [head = '', row] = formatTable(['route', 'method'], [['movies', 'GET']]);
    expect(head.replaceAll(/\x1b\[\d+m/g, '')).toBe('route   method');
    expect(row).toBe('movies  GET');
  });
});
