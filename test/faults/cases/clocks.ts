// Cases in which the clocks of the programs differ, or are set while the programs run.

import { setTimeout as pause } from 'node:timers/promises';
import { call, tokenOf } from '../../stack/client.ts';
import { type Clock, startClock } from '../clock.ts';
import { moviePath } from '../operations.ts';
import { outage } from '../outage.ts';
import { startIdentityProvider } from '../start-world.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

/** Returns the status of a request with a new token of an identity provider whose clock is off by `seconds`. */
async function useTokenOf({ stack }: World, clock: Clock, seconds: number): Promise<number> {
  await stack.identityProvider.kill();
  clock.set(seconds);
  await startIdentityProvider(stack, clock.environment);
  const token = await tokenOf(stack.url);
  const answer = await call(`${stack.url}${moviePath}`, { headers: { authorization: `bearer ${token}` } });
  return answer.status;
}

const apart: Case = {
  name: 'clocks-off-by-two-minutes',
  tries: 2,
  needs: ['compiler', 'linux'],
  async tryOnce(world) {
    const { stack } = world;
    const clock = startClock();
    await outage(world, { what: apart.name, stops: stack.url }, async () => {
      const behind = await useTokenOf(world, clock, -120);
      world.expect(behind === 200, `a token from a provider two minutes behind is refused: ${behind}`);
      const ahead = await useTokenOf(world, clock, 120);
      world.expect(ahead === 401, `a token from a provider two minutes ahead is not refused by default: ${ahead}`);
      await stack.router.stop();
      await stack.restartRouter({ OAUTH_CLOCKTOLERANCESECONDS: '150' });
      await world.untilServed();
      const bridged = await useTokenOf(world, clock, 120);
      world.expect(bridged === 200, `oauth.clockToleranceSeconds=150 does not allow two minutes: ${bridged}`);
      await stack.identityProvider.kill();
      await startIdentityProvider(stack);
      await stack.router.stop();
      await stack.restartRouter();
    });
    clock.stop();
  },
  notJudged: { I6: 'the router is restarted' },
};

/**
 * The seconds by which clocks are set forward and back: more than the timeout of every task. If an engine queues a
 * message while its clock is 60 s ahead and the clock is then corrected, the message becomes due 60 s late.
 */
const jumps = [60, -60];
let clock: Clock | undefined;

/** Returns a case in which the clock of a running router or worker is set forward and back. */
const jumpOf = (program: 'router' | 'workers', more: Partial<Case> = {}): Case => ({
  name: `clock-of-${program}-jumps`,
  ...more,
  tries: 2,
  needs: ['compiler', 'linux'],
  async setUp() {
    clock = startClock();
    return { [program]: clock.environment, tearDown: () => clock?.stop() };
  },
  tryOnce: (world) => jump(world, program),
});

/** The engine's clock decides when a task has timed out. */
const engineJump: Case = {
  name: 'clock-of-engine-jumps',
  tries: 2,
  engine: { environment: () => (clock = startClock()).environment },
  needs: ['compiler', 'linux'],
  tryOnce: (world) => jump(world, 'engine'),
};

async function jump(world: World, program: string): Promise<void> {
  for (const seconds of jumps) {
    const what = `a clock jump of the ${program} by ${seconds} s`;
    await outage(world, { what, spares: ['health'], kind: 'clock' }, async () => {
      clock?.set(seconds);
      await pause(6_000);
      clock?.set(0);
    });
  }
}

/** MDM orders the changes of a person by the clocks of the workers that made them, so this case sends no PATCH. */
const workersJump = jumpOf('workers', {
  world: { patches: false },
  notJudged: { I2: "changes are ordered by the workers' clocks" },
});

export const clockCases: readonly Case[] = [apart, jumpOf('router'), workersJump, engineJump];
