// Tests that docs/explanation/reliability.md shows all stored results of `npm run faults`.

import { expect, it } from 'vitest';
import { reportOf } from '../faults/report.ts';
import { Results } from '../faults/results.ts';
import { readPage } from './pages.ts';

it('reliability.md shows the tables of all stored results, which are from one version of the code', () => {
  const results = new Results().read();
  expect(readPage('docs/explanation/reliability.md').text).toContain(`\n\n${reportOf(results)}\n\n`);
  expect(new Set(results.flat().map(({ product }) => product)).size).toBeLessThanOrEqual(1);
});
