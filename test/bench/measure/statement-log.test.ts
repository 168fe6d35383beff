// Tests of counting SQL statements by phase in the log of PostgreSQL.

import { describe, expect, it } from 'vitest';
import { countByPhase, parseStatements, phaseMarker } from '../../../bench/measure/statement-log.ts';

const log = `2026-11-25 13:00:00 UTC LOG:  database system is ready
100.000 7 LOG:  statement: ${phaseMarker('start')}
100.100 8 LOG:  statement: BEGIN
100.200 8 LOG:  execute S_3/C_4: INSERT INTO a (b)
\t  VALUES ($1)
100.250 9 LOG:  execute <unnamed>: SELECT 1
100.300 8 LOG:  execute S_1: COMMIT
100.400 8 ERROR:  execute is not the cause
100.500 7 LOG:  statement: ${phaseMarker('result')}
101.000 8 LOG:  statement: BEGIN
101.000 8 LOG:  execute S_2: SELECT 1
101.100 8 LOG:  statement: ROLLBACK
101.500 7 LOG:  statement: ${phaseMarker('start')}
101.600 9 LOG:  execute S_2: SELECT 1
101.750 7 LOG:  statement: ${phaseMarker('end')}
`;

describe('the log of PostgreSQL', () => {
  it('is parsed into executed statements, each on one line', () => {
    expect(parseStatements(log).slice(1, 4)).toEqual([
      { at: 100.1, session: '8', text: 'BEGIN' },
      { at: 100.2, session: '8', text: 'INSERT INTO a (b) VALUES ($1)' },
      { at: 100.25, session: '9', text: 'SELECT 1' },
    ]);
    expect(parseStatements(log)).toHaveLength(12);
  });

  it('is counted by phase, over all occurrences of the phase', () => {
    const phases = countByPhase(parseStatements(log));
    expect(phases.get('start')?.seconds).toBeCloseTo(0.75);
    expect(phases.get('start')).toMatchObject({
      statements: new Map([
        ['INSERT INTO a (b) VALUES ($1)', 1],
        ['SELECT 1', 2],
      ]),
    });
  });

  it('contains a commit for each COMMIT and each statement outside a transaction block, but not for ROLLBACK', () => {
    const phases = countByPhase(parseStatements(log));
    expect(phases.get('start')?.commits).toBe(3);
    expect(phases.get('result')?.commits).toBe(0);
  });
});
