// What stands around: identity provider, clocks, Redis, configuration server, MDM, and clients without manners.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startBreakableProxy } from '../../stack/breakable-proxy.ts';
import { call, tokenOf } from '../../stack/client.ts';
import { freePort } from '../../stack/free-port.ts';
import { pollUntil } from '../../stack/poll-until.ts';
import { ProgramFailed, startProgram } from '../../stack/program.ts';
import { audience } from '../../stack/stack.ts';
import { moviePath } from '../operations.ts';
import { allOthers, lightLoad, outage, underLoad } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

async function startIdentityProvider({ stack }: World, env: Record<string, string> = {}): Promise<void> {
  const { port } = new URL(stack.issuer);
  const own = { STATE_DIR: stack.stateDir, OAUTH_AUDIENCE: audience, IDP_PORT: port, ...env };
  stack.identityProvider = await startProgram('dev/identity-provider/main.ts', own);
}

const providerAway: Case = {
  name: 'identity-provider-away',
  tries: 3,
  async tryOnce(world) {
    const { stack, operations } = world;
    const spares = allOthers.filter((route) => route !== 'token');
    await underLoad(world, { ...lightLoad, tokens: false }, async () => {
      await pause(500);
      await outage(world, { what: providerAway.name, spares }, async () => {
        await stack.identityProvider.kill();
        world.kills += 1;
        await pause(3_000);
        const { status } = await operations.token();
        world.expect(status === 503, `the token path answered ${status}, not 503`);
        await startIdentityProvider(world);
      });
      await pollUntil('a token to be issued', async () => (await operations.token()).status === 200);
    });
  },
};

const providerAwayAtStart: Case = {
  name: 'identity-provider-away-at-start',
  tries: 3,
  async tryOnce(world) {
    const { stack, operations } = world;
    await outage(world, { what: providerAwayAtStart.name, spares: ['health'] }, async () => {
      await stack.identityProvider.kill();
      await world.killRouter();
      world.kills += 1;
      await stack.restartRouter();
      for (let count = 0; count < 5; count++) {
        const { status, problem } = await operations.movie();
        world.expect(status === 503, `a good token that cannot be checked was answered ${status} ${problem}`);
        await operations.refused();
        await operations.health();
      }
      await startIdentityProvider(world);
    });
  },
};

const fakeTime = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
];

const findFakeTime = () => fakeTime.find((path) => existsSync(path));

/** The identity provider's clock is off; a new token is used at a router whose clock is right. */
async function useTokenOf(world: World, seconds: number): Promise<number> {
  const { stack } = world;
  const library = findFakeTime() as string;
  await stack.identityProvider.kill();
  const offset = `${seconds < 0 ? '' : '+'}${seconds}s`;
  await startIdentityProvider(world, { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' });
  const token = await tokenOf(stack.url);
  const answer = await call(`${stack.url}${moviePath}`, { headers: { authorization: `bearer ${token}` } });
  return answer.status;
}

const clocksOff: Case = {
  name: 'clocks-off-by-two-minutes',
  tries: 2,
  missing: () => (findFakeTime() === undefined ? 'libfaketime (Debian: faketime)' : undefined),
  async tryOnce(world) {
    const { stack } = world;
    await outage(world, { what: clocksOff.name, spares: ['health'] }, async () => {
      await underLoad(world, { clients: 3, tokens: false }, async () => {
        const behind = await useTokenOf(world, -120);
        world.expect(behind === 200, `a token of a provider that is two minutes behind is refused: ${behind}`);
        const ahead = await useTokenOf(world, 120);
        world.expect(ahead === 401, `a token from two minutes ahead is not refused by default: ${ahead}`);
      });
      await stack.router.stop();
      await stack.restartRouter({ OAUTH_CLOCKTOLERANCESECONDS: '150' });
      await world.untilServed();
      const bridged = await useTokenOf(world, 120);
      world.expect(bridged === 200, `oauth.clockToleranceSeconds=150 does not bridge two minutes: ${bridged}`);
      await stack.identityProvider.kill();
      await startIdentityProvider(world);
      await stack.router.stop();
      await stack.restartRouter();
    });
  },
};

let redis: { proxy: Awaited<ReturnType<typeof startBreakableProxy>> } | undefined;

const redisAway: Case = {
  name: 'redis-away',
  tries: 3,
  async setUp() {
    const port = await freePort();
    const server = spawn('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], {
      stdio: 'ignore',
    });
    const proxy = await startBreakableProxy(`http://127.0.0.1:${port}`);
    redis = { proxy };
    return {
      router: { REDIS_URL: proxy.url.replace('http:', 'redis:') },
      async tearDown() {
        await proxy.stop();
        server.kill('SIGKILL');
        await once(server, 'exit');
      },
    };
  },
  async tryOnce(world) {
    await underLoad(world, lightLoad, async () => {
      await pause(1_000);
      for (const fail of ['cut', 'freeze'] as const) {
        await outage(world, { what: `${redisAway.name}: ${fail}`, spares: allOthers }, async () => {
          await redis?.proxy[fail]();
          await pause(4_000);
          await redis?.proxy.repair();
        });
      }
    });
  },
};

const configurationAway: Case = {
  name: 'configuration-server-away',
  tries: 3,
  async tryOnce(world) {
    const { stack } = world;
    const server = createServer((_request, response) => response.end('router.drainMs=29000\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/router.properties`;
    const copies = mkdtempSync(join(tmpdir(), 'service-router-copies-'));
    const env = { CONFIG_URL: url, CONFIG_LASTKNOWNGOODDIR: copies, CONFIG_TIMEOUTMS: '1000' };
    await stack.router.stop();
    await stack.restartRouter(env);
    await underLoad(world, lightLoad, () =>
      outage(world, { what: configurationAway.name, spares: allOthers }, async () => {
        server.close();
        server.closeAllConnections();
        await pause(2_000);
      }),
    );
    // Killed meanwhile, it starts with its copy; a router that never had one does not start.
    await outage(world, { what: `${configurationAway.name} at a start` }, async () => {
      await world.killRouter();
      const withoutCopy = { ...stack.routerEnv, ROUTER_PORT: '0', CONFIG_URL: url };
      const refused = await startProgram('gateway/main.ts', withoutCopy).catch((error: unknown) => error);
      world.expect(refused instanceof ProgramFailed && refused.exitCode === 1, 'it started without its configuration');
      await stack.restartRouter(env);
    });
    await stack.router.stop();
    await stack.restartRouter();
    rmSync(copies, { recursive: true });
  },
};

/** An hour, sixty times as fast: pauses between tries go up to 5 s instead of 300 s, for 1440 s instead of a day. */
const mdmAway: Case = {
  name: 'mdm-away-for-an-hour',
  tries: 1,
  world: { workers: { MDM_RETRYMAXDELAYSECONDS: '5', MDM_RETRYWINDOWSECONDS: '1440' } },
  async tryOnce(world) {
    const { stack } = world;
    const heardOf = () => world.events().filter(({ actor }) => actor === 'mdm').length;
    const setAvailable = (available: boolean) =>
      call(`${stack.backEndsUrl}/mdm/availability`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ available }),
      });
    await outage(world, { what: mdmAway.name, spares: allOthers }, async () => {
      await setAvailable(false);
      const before = heardOf();
      await underLoad(world, { clients: 1, pauseMs: 200, patchesPerSecond: 4 }, () => pause(60_000));
      const heard = heardOf() - before;
      world.expect(heard === 0, `MDM heard of ${heard} changes while it was away`);
      await setAvailable(true);
    });
    world.expect(await world.untilMdmHeard(150_000), 'MDM has not heard of every PATCH');
  },
};

const patchTwice: Case = {
  name: 'same-patch-twice',
  tries: 30,
  async tryOnce(world) {
    const cccid = `TWICE${Math.random().toString(36).slice(2, 10).toUpperCase()}`;
    const first = world.operations.patchPerson('0318204', cccid);
    await pause(Math.random() * 30);
    const outcomes = await Promise.all([first, world.operations.patchPerson('0318204', cccid)]);
    for (const { status } of outcomes) world.expect(status === 200, `answered ${status}`);
    const [one, other] = outcomes;
    world.expect(one.executionId !== other.executionId, 'both had one execution');
    const person = await call(`${world.stack.backEndsUrl}/adaptors/001/mock/colleges/001/persons/0318204`);
    world.expect(person.json<{ cccid: string }>().cccid === cccid, 'the person has another cccid');
  },
};

const clientGone: Case = {
  name: 'client-gone',
  tries: 10,
  async tryOnce(world) {
    const { operations } = world;
    const leave = () => AbortSignal.timeout(Math.ceil(Math.random() * 400));
    const sent = Array.from({ length: 20 }, (_, index) =>
      index % 4 === 0 ? operations.patch(leave()) : operations.movie(leave()),
    );
    await Promise.all(sent);
    await pollUntil('nobody to be waited for', async () => (await world.levels()).waits === 0);
  },
};

export const surroundingsCases: readonly Case[] = [
  providerAway,
  providerAwayAtStart,
  clocksOff,
  redisAway,
  configurationAway,
  mdmAway,
  patchTwice,
  clientGone,
];
