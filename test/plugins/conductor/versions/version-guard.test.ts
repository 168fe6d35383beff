// Tests of when the guard removes a version: within the window, the version must fail more than allowed and more than
// the others, and both it and the others must have had enough requests.

import { describe, expect, it } from 'vitest';
import { VersionGuard } from '../../../../plugins/conductor/versions/version-guard.ts';

const options = { failurePercent: 20, minRequests: 10, windowMs: 60_000 };

/** Notes `requests` outcomes, the last `failures` as failures; returns whether an outcome removed the version. */
function note(guard: VersionGuard, version: number, [failures, requests]: [number, number], now = 1_000): boolean {
  const outcomes = Array.from({ length: requests }, (_, n) => ({ failed: n >= requests - failures }));
  return outcomes.map((outcome) => guard.note(version, outcome, now)).some((takenOut) => takenOut !== undefined);
}

describe('VersionGuard', () => {
  it('removes a version once when it fails more than allowed and more than the others', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [0, 100]);
    expect(note(guard, 2, [5, 20])).toBe(true);
    expect([...guard.removed]).toEqual([2]);
    expect(note(guard, 2, [5, 20])).toBe(false);
  });

  it('keeps a version at the allowed failure rate', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [0, 100]);
    expect(note(guard, 2, [4, 20])).toBe(false);
  });

  it('keeps a version when the others fail more', () => {
    const guard = new VersionGuard({ ...options, failurePercent: 80 });
    note(guard, 1, [80, 100]);
    for (let n = 0; n < 100; n++) expect(guard.note(2, { failed: n % 2 === 0 }, 1_000)).toBeUndefined();
  });

  it('keeps both versions when they fail alike because of a shared dependency', () => {
    const guard = new VersionGuard(options);
    for (let n = 0; n < 300; n++) {
      guard.note(1, { failed: n % 2 === 0 }, 1_000);
      guard.note(2, { failed: n % 2 === 0 || n % 50 === 1 }, 1_000);
    }
    expect([...guard.removed]).toEqual([]);
  });

  it('never removes the last version', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [0, 20]);
    expect(note(guard, 2, [20, 20])).toBe(true);
    expect(note(guard, 1, [200, 200])).toBe(false);
    expect([...guard.removed]).toEqual([2]);
  });

  it('compares a version with the remaining ones', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [0, 50]);
    note(guard, 2, [10, 50]);
    expect(note(guard, 3, [50, 50])).toBe(true);
    expect(note(guard, 2, [20, 20])).toBe(true);
    expect([...guard.removed]).toEqual([3, 2]);
  });

  it('returns the outcomes that led to the removal', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [1, 20]);
    note(guard, 2, [9, 9]);
    expect(guard.note(2, { failed: true }, 1_000)).toEqual({
      own: { requests: 10, failures: 10 },
      others: { requests: 20, failures: 1 },
    });
  });

  it('keeps a version when it or the others have too few requests', () => {
    const guard = new VersionGuard(options);
    expect(note(guard, 2, [100, 100])).toBe(false);
    note(guard, 1, [0, 10]);
    expect(note(guard, 2, [1, 1])).toBe(true);
    const young = new VersionGuard(options);
    note(young, 1, [0, 100]);
    expect(note(young, 2, [9, 9])).toBe(false);
    expect(note(young, 2, [1, 1])).toBe(true);
  });

  it('ignores failures that are older than the window', () => {
    const guard = new VersionGuard(options);
    note(guard, 1, [0, 100], 62_000);
    expect(note(guard, 2, [9, 9], 1_000)).toBe(false);
    expect(note(guard, 2, [1, 9], 62_000)).toBe(false);
    expect(guard.removed.size).toBe(0);
  });
});
