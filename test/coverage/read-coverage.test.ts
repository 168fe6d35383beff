// Tests of reading coverage: the counts of several processes are merged by line, at the positions of the source file.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readCoverage } from './read-coverage.ts';
import { tableOf } from './table.ts';

const source = `// A comment.
import { argv } from 'node:process';

interface Unused {
  readonly field: string;
}

/** A docstring. */
export function choose(name: string | undefined, spare?: Unused): string {
  if (name === 'one') {
    return 'first';
  }
  return name === 'two' ? 'second' : (spare?.field ?? 'third');
}

function never(): number {
  return 1;
}

choose(argv[2]);
export const later = () => never();
`;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'coverage-'));
  writeFileSync(join(dir, 'a.ts'), source);
  writeFileSync(join(dir, 'b.ts'), 'export const unused = 1;\n');
});
afterAll(() => rmSync(dir, { recursive: true }));

const run = (data: string, name: string) =>
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(dir, 'a.ts'), name], {
    env: { NODE_V8_COVERAGE: join(dir, data) },
  });

it('lines that one of two processes has run are covered; types, comments and imports do not count', () => {
  run('one', 'two');
  expect(readCoverage(join(dir, 'one'), dir, ['a.ts'])).toEqual([
    { file: 'a.ts', lines: 8, covered: 5, missed: [11, 16, 17] },
  ]);
  run('one', 'one');
  expect(readCoverage(join(dir, 'one'), dir, ['a.ts'])).toMatchObject([{ covered: 6, missed: [16, 17] }]);
});

it('a file that no process has loaded has no covered line; an incomplete report is ignored', () => {
  run('two', 'one');
  writeFileSync(join(dir, 'two', 'half.json'), '{"result":[');
  const files = readCoverage(join(dir, 'two'), dir, ['a.ts', 'b.ts']);
  expect(files[1]).toEqual({ file: 'b.ts', lines: 1, covered: 0, missed: [1] });
  expect(
    tableOf(files, ['.'])
      .split('\n')
      .map((line) => line.replace(/ +/g, ' ')),
  ).toEqual([
    '. 55.6 % of 9 lines',
    expect.stringContaining('a.ts'),
    expect.stringMatching(/b\.ts 0\.0 % of 1 lines 1$/),
    expect.stringContaining('all'),
  ]);
});
