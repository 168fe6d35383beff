// The split of clients over versions: in the configured shares, sticky, and moving no more clients than it must.

import { describe, expect, it } from 'vitest';
import { VersionSplit } from '../../../../plugins/conductor/versions/version-split.ts';

const clients = Array.from({ length: 10_000 }, (_, n) => `client-${n}`);
const choose = (shares: Record<string, number>, without?: Set<number>) => {
  const split = new VersionSplit('moviesWF', shares);
  return clients.map((client) => split.choose(client, without));
};
const shareOf = (versions: number[], version: number) =>
  versions.filter((chosen) => chosen === version).length / versions.length;

describe('versions', () => {
  it('get clients in their shares', () => {
    const chosen = choose({ 1: 10, 2: 30, 7: 60 });
    for (const [version, share] of [
      [1, 0.1],
      [2, 0.3],
      [7, 0.6],
    ] as const) {
      expect(Math.abs(shareOf(chosen, version) - share)).toBeLessThan(0.02);
    }
  });

  it('a client gets the same version each time, on every router', () => {
    expect(choose({ 1: 50, 2: 50 })).toEqual(choose({ 2: 50, 1: 50 }));
  });

  it('one workflow says nothing of another', () => {
    const other = new VersionSplit('lms-dwWF', { 1: 50, 2: 50 });
    const movies = choose({ 1: 50, 2: 50 });
    const same = clients.filter((client, n) => other.choose(client) === movies[n]).length;
    expect(Math.abs(same / clients.length - 0.5)).toBeLessThan(0.02);
  });

  it('shares that change move only as many clients as they must, and all of them to the version that grew', () => {
    const before = choose({ 1: 90, 2: 10 });
    const after = choose({ 1: 80, 2: 20 });
    const moved = before.filter((version, n) => version !== after[n]);
    expect(Math.abs(moved.length / clients.length - 0.1)).toBeLessThan(0.02);
    expect(new Set(moved)).toEqual(new Set([1]));
  });

  it('share 0 gets nobody', () => {
    expect(shareOf(choose({ 1: 100, 2: 0 }), 2)).toBe(0);
  });

  it('one that is out leaves its clients to the others; all out: as if none were', () => {
    expect(shareOf(choose({ 1: 50, 2: 50 }, new Set([2])), 1)).toBe(1);
    expect(choose({ 1: 50, 2: 50 }, new Set([1, 2]))).toEqual(choose({ 1: 50, 2: 50 }));
    expect(shareOf(choose({ 1: 0, 2: 100 }, new Set([2])), 2)).toBe(1);
  });

  it.each([{}, { 1: 0 }, { 1: 0, 2: 0 }])('%j: refused', (shares) => {
    expect(() => new VersionSplit('moviesWF', shares)).toThrow('versions of moviesWF: the shares sum to 0');
  });
});
