// Tests of the split of clients between versions: it follows the configured shares, is sticky, and moves no more
// clients than necessary.

import { describe, expect, it } from 'vitest';
import { VersionSplit } from '../../../../plugins/conductor/versions/version-split.ts';

const clients = Array.from({ length: 10_000 }, (_, n) => `client-${n}`);
const splitOf = (shares: Record<string, number>, workflow = 'moviesWF') =>
  new VersionSplit(workflow, new Map(Object.entries(shares).map(([version, share]) => [Number(version), share])));
const choose = (shares: Record<string, number>, without?: Set<number>) => {
  const split = splitOf(shares);
  return clients.map((client) => split.choose(client, without));
};
const shareOf = (versions: number[], version: number) =>
  versions.filter((chosen) => chosen === version).length / versions.length;

describe('versions', () => {
  it('get clients in proportion to their shares', () => {
    const chosen = choose({ 1: 10, 2: 30, 7: 60 });
    for (const [version, share] of [
      [1, 0.1],
      [2, 0.3],
      [7, 0.6],
    ] as const) {
      expect(Math.abs(shareOf(chosen, version) - share)).toBeLessThan(0.02);
    }
  });

  it('a client gets the same version each time, on every router and in every release', () => {
    expect(choose({ 1: 50, 2: 50 })).toEqual(choose({ 1: 50, 2: 50 }));
    // Another program computed these values. A change of the hash function would move clients and fail this test.
    const twos = clients.slice(0, 10).filter((client) => splitOf({ 1: 50, 2: 50 }).choose(client) === 2);
    expect(twos).toEqual([
      'client-0',
      'client-1',
      'client-2',
      'client-4',
      'client-6',
      'client-7',
      'client-8',
      'client-9',
    ]);
  });

  it('the order and the unit of the shares in the gateway configuration have no effect', () => {
    const turned = new VersionSplit('moviesWF', new Map([[2, 5], [1, 5]])); // prettier-ignore
    const same = splitOf({ 1: 50, 2: 50 });
    expect(clients.filter((client) => turned.choose(client) !== same.choose(client))).toEqual([]);
  });

  it('any client name gets a version', () => {
    for (const client of ['', ' ', '\n', 'a\nb', 'ü'.repeat(10_000)]) {
      expect([1, 2]).toContain(splitOf({ 1: 50, 2: 50 }).choose(client));
    }
  });

  it('a third version takes clients from the other two, between which no client moves', () => {
    const before = choose({ 1: 50, 2: 50 });
    const after = choose({ 1: 50, 2: 50, 3: 50 });
    const moved = after.filter((version, n) => version !== before[n]);
    expect(new Set(moved)).toEqual(new Set([3]));
    expect(Math.abs(moved.length / clients.length - 1 / 3)).toBeLessThan(0.02);
  });

  it('the version of a client in one workflow does not depend on its version in another', () => {
    const other = splitOf({ 1: 50, 2: 50 }, 'lms-dwWF');
    const movies = choose({ 1: 50, 2: 50 });
    const same = clients.filter((client, n) => other.choose(client) === movies[n]).length;
    expect(Math.abs(same / clients.length - 0.5)).toBeLessThan(0.02);
  });

  it('changed shares move only as many clients as necessary, all of them to the version whose share grew', () => {
    const before = choose({ 1: 90, 2: 10 });
    const after = choose({ 1: 80, 2: 20 });
    const moved = before.filter((version, n) => version !== after[n]);
    expect(Math.abs(moved.length / clients.length - 0.1)).toBeLessThan(0.02);
    expect(new Set(moved)).toEqual(new Set([1]));
  });

  it('a version with share 0 gets no clients', () => {
    expect(shareOf(choose({ 1: 100, 2: 0 }), 2)).toBe(0);
  });

  it('the clients of a removed version go to the others; when all are removed, none counts as removed', () => {
    expect(shareOf(choose({ 1: 50, 2: 50 }, new Set([2])), 1)).toBe(1);
    expect(choose({ 1: 50, 2: 50 }, new Set([1, 2]))).toEqual(choose({ 1: 50, 2: 50 }));
    expect(shareOf(choose({ 1: 0, 2: 100 }, new Set([2])), 2)).toBe(1);
  });
});
