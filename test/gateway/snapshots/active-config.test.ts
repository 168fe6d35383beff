// Tests of the live view of the active configuration.

import { expect, it } from 'vitest';
import type { Config } from '#lib/config/schema.ts';
import { createActiveConfig } from '../../../gateway/snapshots/active-config.ts';

const configOf = (values: object) => Object.freeze(values) as Config;

it('has the keys and values of the active configuration, even when they are enumerated', () => {
  const active = createActiveConfig(configOf({ 'prune.completedDays': 30 }));
  expect(Object.entries(active.config)).toEqual([['prune.completedDays', 30]]);
  active.set(configOf({ 'prune.completedDays': 7, 'prune.movies.days': 1 }));
  expect({ ...active.config }).toEqual({ 'prune.completedDays': 7, 'prune.movies.days': 1 });
  expect('prune.movies.days' in active.config).toBe(true);
  expect('prune.failedDays' in active.config).toBe(false);
});
