// Tests that docs/how-to/change-configuration-without-a-restart.md lists exactly the keys that need a restart.

import { expect, it } from 'vitest';
import { restartKeys } from '#lib/config/restart-keys.ts';
import { readPage, rowsOf, sectionOf } from './pages.ts';

it('change-configuration-without-a-restart.md lists exactly the keys that need a restart', () => {
  const rows = rowsOf(
    sectionOf(readPage('docs/how-to/change-configuration-without-a-restart.md'), 'Keys that need a restart'),
  );
  const documented = rows.filter((cells) => cells.length === 1).map(([key]) => key);
  expect(documented.toSorted()).toEqual([...restartKeys].toSorted());
});
