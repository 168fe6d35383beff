// Tests of loads that are reduced for slow machines.

import { describe, expect, it } from 'vitest';
import { shareOf } from './load.ts';

describe('a share of a load', () => {
  it('has that share of the clients, rounded up, and of the PATCHes, with the same pauses', () => {
    const load = { clients: 8, pauseMs: 120, patchesPerSecond: 3, keyedClients: 3, laterClients: 0 };
    expect(shareOf(load, 0.5)).toEqual({
      clients: 4,
      pauseMs: 120,
      patchesPerSecond: 1.5,
      keyedClients: 2,
      laterClients: 0,
    });
  });

  it('of 1 is the whole load', () => {
    const load = { clients: 3, pauseMs: 300, patchesPerSecond: 1, keyedClients: 1, laterClients: 1 };
    expect(shareOf(load, 1)).toEqual(load);
  });
});
