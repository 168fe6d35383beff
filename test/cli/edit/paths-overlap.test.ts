// Tests of which path patterns have paths in common.

import { expect, it } from 'vitest';
import { pathsOverlap } from '../../../cli/edit/paths-overlap.ts';

it.each([
  ['/catalog', '/catalog', true],
  ['/catalog', '/Catalog', true],
  ['/catalog', '/movies', false],
  ['/catalog/:id', '/catalog', false],
  ['/catalog/:id', '/catalog/top', true],
  ['/catalog/:id', '/catalog/:id/units', false],
  ['/catalog/*', '/catalog/:id/units', true],
  ['/catalog/*', '/catalog', true],
  ['/catalog/*', '/catalogue', false],
  ['/:any/units', '/catalog/:id', true],
  ['/', '/catalog', false],
])('%s and %s → %s, in both directions', (one, other, expected) => {
  expect(pathsOverlap(one, other)).toBe(expected);
  expect(pathsOverlap(other, one)).toBe(expected);
});
