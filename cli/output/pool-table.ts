// The table of worker pools that `status` and `workers` print: who polls which task type in which domain.

import type { WorkerPool } from '#lib/conductor/metadata/worker-pools.ts';
import { paint, printable } from './colours.ts';
import { formatSpan } from '../input/duration.ts';
import { formatTable } from './table.ts';

/**
 * Returns the lines of the table, headings first. Ids and domains come from workers, so their control characters are
 * escaped.
 */
export function formatPools(pools: readonly WorkerPool[]): string[] {
  return formatTable(['task type', 'domain', 'waiting', 'last poll', 'worker'], pools.flatMap(toRows));
}

function toRows({ taskType, domain, waiting, workers }: WorkerPool): string[][] {
  const head = [taskType, printable(domain ?? '-'), waiting > 0 ? paint('warning', String(waiting)) : '0'];
  if (workers.length === 0) return [[...head, paint('bad', 'nobody polls'), '-']];
  return workers.map(({ workerId, lastPollSecondsAgo, stale }) => {
    const seen = `${lastPollSecondsAgo < 60 ? `${lastPollSecondsAgo} s` : formatSpan(lastPollSecondsAgo * 1_000)} ago`;
    return [...head, stale ? paint('bad', `${seen} (inactive)`) : seen, printable(workerId ?? '-')];
  });
}
