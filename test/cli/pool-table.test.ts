// Tests of the table of worker pools: control characters are escaped, and pools without workers are marked.

import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { formatPools } from '../../cli/output/pool-table.ts';

it('escapes control characters in worker ids and domains', () => {
  const workers = [{ workerId: 'w\u001b[2J\u009b1m', lastPollSecondsAgo: 3, stale: false }];
  const [, line = ''] = formatPools([{ taskType: 'movies_intake', domain: 'd\u0007', waiting: 0, workers }]);
  expect(stripVTControlCharacters(line)).toBe(line);
  expect(line).toMatch(/^movies_intake +d\\u0007 +0 +3 s ago +w\\u001b\[2J\\u009b1m$/);
});

it('says when no worker polls', () => {
  const [, line] = formatPools([{ taskType: 'movies_intake', waiting: 2, workers: [] }]);
  expect(stripVTControlCharacters(line as string)).toMatch(/^movies_intake +- +2 +nobody polls +-/);
});
