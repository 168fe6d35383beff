// Tests of the time limits of a world: they are multiplied by its slack.

import { expect, it } from 'vitest';
import { createWorld, type WorldParts } from './world.ts';

const worldWith = (slack: number) => createWorld({ slack } as WorldParts);

it.each([
  [1, 5_000, []],
  [1, 5_001, ['draining took 5001 ms']],
  [3, 15_000, []],
  [3, 15_001, ['draining took 15001 ms']],
])('slack %d, limit 5000 ms, duration %d ms: %j', (slack, ms, expected) => {
  const world = worldWith(slack);
  world.expectWithin(5_000, ms, 'draining took');
  expect(world.complaints).toEqual(expected);
});

it('a deadline for routes that stay broken is multiplied by the slack', async () => {
  const operations = { probe: async () => ({ status: 503 }) } as unknown as WorldParts['operations'];
  const served = createWorld({ slack: 3, operations } as WorldParts).untilServed({ timeoutMs: 100 });
  await expect(served).rejects.toThrow('timed out after 300 ms waiting for movies, adaptor to be served');
});
