// docs/operations.md lists the keys that need a restart, all of them and no other.

import { expect, it } from 'vitest';
import { restartKeys } from '#lib/config/restart-keys.ts';
import { readPage, rowsOf, sectionOf } from './pages.ts';

it('operations.md: the keys that need a restart', () => {
  const rows = rowsOf(sectionOf(readPage('docs/operations.md'), 'Change without restart'));
  const documented = rows.filter((cells) => cells.length === 1).map(([key]) => key);
  expect(documented.toSorted()).toEqual([...restartKeys].toSorted());
});
