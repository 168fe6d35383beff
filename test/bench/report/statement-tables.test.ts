// Tests of the tables of SQL statements that engine calls execute.

import { describe, expect, it } from 'vitest';
import { type Executed, perCall, statementTables } from '../../../bench/report/statement-tables.ts';

const idle: Executed = {
  ...{ calls: 0, seconds: 10, commits: 20, writes: 0, walBytes: 1_000 },
  statements: new Map([['SELECT $1 || $2', 20]]),
};
const start: Executed = {
  ...{ calls: 2, seconds: 5, commits: 14, writes: 4, walBytes: 2_500 },
  statements: new Map([
    ['SELECT $1 || $2', 10],
    ['INSERT', 6],
  ]),
};

describe('the tables of statements', () => {
  it('do not count what the idle engine executes in the same time', () => {
    expect(perCall(({ commits }) => commits, start, idle)).toBe(2);
  });

  it('have the counts of a call, and no statement that only the idle engine executes', () => {
    expect(statementTables({ start }, idle).split('\n')).toEqual([
      '| each call                | start |',
      '| ------------------------ | ----: |',
      '| statements               |   3.0 |',
      '| commits                  |   2.0 |',
      '| commits that are flushed |   2.0 |',
      '| bytes of write-ahead log |  1000 |',
      '',
      '| statement | start |',
      '| --------- | ----: |',
      '| `INSERT`  |   3.0 |',
    ]);
  });
});
