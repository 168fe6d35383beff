// docs/guarantees.md shows what the runs of `npm run faults` have left, all of it.

import { expect, it } from 'vitest';
import { readResults, reportOf } from '../faults/report.ts';
import { readPage } from './pages.ts';

it('guarantees.md: the table is the one of the results that are kept', () => {
  expect(readPage('docs/guarantees.md').text).toContain(reportOf(readResults()));
});
