// Tests of `version` and `versions` in gateway.config.yml: their meaning, and the messages when they are invalid.

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeShares, readPinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';

const read = (yaml: string) => readPinnedVersions(parse(yaml) as Record<string, unknown>);
const sharesOf = (yaml: string) => [...(read(yaml).pinned?.shares ?? [])];

describe('readPinnedVersions', () => {
  it('one version: gets all requests', () => {
    expect(sharesOf('{ version: 2 }')).toEqual([[2, 1]]);
    expect(read('{ version: 2 }').pinned?.isSplit).toBe(false);
  });

  it('versions: each with its share, in ascending order', () => {
    expect(sharesOf('{ versions: { 10: 5, 1: 10, 2: 90 } }')).toEqual([
      [1, 10],
      [2, 90],
      [10, 5],
    ]);
    expect(read('{ versions: { 1: 10, 2: 90 } }').pinned?.isSplit).toBe(true);
  });

  it('a single version; a version with the share 0; a guard over two versions: each is valid', () => {
    expect(sharesOf('{ versions: { 3: 1 } }')).toEqual([[3, 1]]);
    expect(sharesOf('{ versions: { 1: 0, 2: 1 } }')).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(read('{ versions: { 1: 1, 2: 1 }, versionGuard: {} }').problems).toEqual([]);
  });

  it.each([
    [
      '{}',
      'needs a version: write `version: 1`, or give several versions with their shares, such as `versions: { 1: 10, 2: 90 }`',
    ],
    ['{ version: 1, versions: { 1: 1 } }', 'version and versions are both given: keep one of them'],
    ['{ version: 0 }', 'version is 0: use a whole number, 1 or more'],
    ['{ version: two }', 'version is "two": use a whole number, 1 or more'],
    ['{ versions: {} }', 'versions is empty: name each version with its share, such as `versions: { 1: 10, 2: 90 }`'],
    [
      '{ versions: 2 }',
      'versions is not a map: name each version with its share, such as `versions: { 1: 10, 2: 90 }`',
    ],
    ['{ versions: }', 'versions is not a map: name each version with its share, such as `versions: { 1: 10, 2: 90 }`'],
    [
      '{ versions: [1, 2] }',
      'versions is not a map: name each version with its share, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: 0, 2: 0 } }',
      'versions: the shares sum to 0, so no version would get a request: give at least one version a share above 0, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: -5, 2: 5 } }',
      'versions: the share of version 1 is -5: use whole numbers, 0 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: 0.5, 2: 1 } }',
      'versions: the share of version 1 is 0.5: use whole numbers, 0 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: 10 %, 2: 1 } }',
      'versions: the share of version 1 is "10 %": use whole numbers, 0 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: , 2: 1 } }',
      'versions: the share of version 1 is null: use whole numbers, 0 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { v1: 10, 2: 1 } }',
      'versions has the key "v1": use whole numbers, 1 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 0: 10, 2: 1 } }',
      'versions has the key "0": use whole numbers, 1 or more, such as `versions: { 1: 10, 2: 90 }`',
    ],
    [
      '{ versions: { 1: 0, 2: 1 }, versionGuard: {} }',
      'versionGuard compares versions: give at least two of them a share above 0, or remove versionGuard',
    ],
    [
      '{ version: 1, versionGuard: {} }',
      'versionGuard compares versions: give at least two of them a share above 0, or remove versionGuard',
    ],
  ])('%s: refused', (yaml, problem) => {
    expect(read(yaml)).toEqual({ problems: [problem] });
  });

  it('several wrong shares: each reported on its own line', () => {
    expect(read('{ versions: { 1: -1, x: 1, 2: 1.5 } }').problems).toHaveLength(3);
  });
});

describe('describeShares', () => {
  it.each([
    ['{ version: 2 }', 'v2'],
    ['{ versions: { 1: 10, 2: 90 } }', 'v1 10 %, v2 90 %'],
    ['{ versions: { 1: 1, 2: 2, 3: 0 } }', 'v1 33.3 %, v2 66.7 %, v3 0 %'],
  ])('describes %s as %s', (yaml, text) => {
    const { pinned } = read(yaml);
    expect(pinned && describeShares(pinned)).toBe(text);
  });
});
