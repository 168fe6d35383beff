// Tests of the path and query that a back end receives for a request target.

import { expect, it } from 'vitest';
import { splitTarget } from '../../../../plugins/conductor/execution/target.ts';

it.each([
  ['/movies/Am%C3%A9lie?lang=', 1, '/Am%C3%A9lie', 'lang='],
  ['/adaptor/001/terms', 2, '/terms', undefined],
  ['/orders/', 1, '/', undefined],
  ['/orders', 1, '', undefined],
  ['/orders?page=2', 1, '', 'page=2'],
  ['/orders//7/?', 1, '//7/', ''],
])('%s without %i segments → %s and %s', (target, segments, path, query) => {
  expect(splitTarget(target, segments)).toEqual({ path, query });
});
