// Tests of the restart policy: exponential backoff, and the limit on crashes.

import { describe, expect, it } from 'vitest';
import { decideRestart, restartPolicy } from '../../../dev/stack/restart-policy.ts';

describe('decideRestart', () => {
  it('doubles the pause with each crash inside the window', () => {
    expect(decideRestart([0])).toEqual({ action: 'restart', delayMs: 250 });
    expect(decideRestart([0, 1])).toEqual({ action: 'restart', delayMs: 500 });
    expect(decideRestart([0, 1, 2])).toEqual({ action: 'restart', delayMs: 1_000 });
    expect(decideRestart([0, 1, 2, 3])).toEqual({ action: 'restart', delayMs: 2_000 });
  });

  it('gives up at the fifth crash within a minute', () => {
    expect(decideRestart([0, 10_000, 20_000, 40_000, 59_999])).toEqual({ action: 'give up', crashes: 5 });
  });

  it('forgets crashes that are older than the window', () => {
    expect(decideRestart([0, 10_000, 20_000, 40_000, 60_000])).toEqual({ action: 'restart', delayMs: 2_000 });
    expect(decideRestart([0, 1, 2, 3, 100_000])).toEqual({ action: 'restart', delayMs: 250 });
  });

  it('never waits longer than the policy allows', () => {
    const policy = { ...restartPolicy, crashes: 100 };
    expect(
      decideRestart(
        Array.from({ length: 50 }, (_, index) => index),
        policy,
      ),
    ).toEqual({
      action: 'restart',
      delayMs: 5_000,
    });
  });
});
