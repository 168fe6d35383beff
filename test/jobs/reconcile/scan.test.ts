// Tests of which part of the index a scan of ended executions reads in each round.

import { expect, it } from 'vitest';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionQuery } from '#lib/conductor/executions/execution-index.ts';
import { EndedScan } from '../../../jobs/reconcile/scan.ts';

const minute = 60_000;

it('advances even when no execution of its workflow has ended', async () => {
  const queries: ExecutionQuery[] = [];
  const search = async (query: ExecutionQuery) => {
    queries.push(query);
    return { executions: [], total: 0, bytes: 0 };
  };
  const options = { workflowType: 'mdmWF', from: 10 * minute, lagMs: minute, overlapMs: 2 * minute };
  const scan = new EndedScan({ search } as unknown as ExecutionApi, options);
  for (const now of [100 * minute, 101 * minute]) {
    expect(await scan.next(now, 5)).toEqual({ rows: [], isComplete: true });
  }
  expect(queries.map(({ endedAfter, endedBefore }) => [endedAfter, endedBefore])).toEqual([
    [10 * minute, 99 * minute],
    [97 * minute - 1, 100 * minute],
  ]);
});
