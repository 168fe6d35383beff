// Cases in which an external system fails: the identity provider, the configuration server or MDM.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { call } from '../../stack/client.ts';
import { ProgramFailed, startProgram } from '../../stack/program.ts';
import { allOthers } from '../component.ts';
import { outage, underLoad } from '../outage.ts';
import type { World } from '../world.ts';
import type { Case } from './case.ts';

const providerAway: Case = {
  name: 'identity-provider-away',
  tries: 3,
  async tryOnce(world) {
    const { operations } = world;
    const provider = world.component('identity provider');
    await outage(world, { ...provider, what: providerAway.name }, async () => {
      await world.kill(provider);
      await pause(3_000);
      const { status } = await operations.token();
      world.expect(status === 503, `the token path responded with ${status}, not 503`);
      await provider.start();
    });
  },
};

const providerAwayAtStart: Case = {
  name: 'identity-provider-away-at-start',
  tries: 3,
  notJudged: { I6: 'the router is killed too' },
  async tryOnce(world) {
    const { operations } = world;
    const [provider, router] = [world.component('identity provider'), world.component('router')];
    await outage(world, { what: providerAwayAtStart.name, stops: router.stops }, async () => {
      await world.kill(provider);
      await world.kill(router);
      await router.start();
      for (let count = 0; count < 5; count++) {
        const outcome = await operations.movie();
        world.expectStatus('a request with a good token that cannot be checked', outcome, [503]);
        await operations.refused();
        await operations.health();
      }
      await provider.start();
    });
  },
};

const restart = ({ stack }: World) => ({ what: 'restart', stops: stack.url });

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
    world.fault(restart(world));
    await stack.router.stop();
    await stack.restartRouter(env);
    world.repaired('restart');
    await outage(world, { what: configurationAway.name, spares: allOthers }, async () => {
      server.close();
      server.closeAllConnections();
      await pause(2_000);
    });
    // A killed router starts with its local copy of the configuration; a router without a copy does not start.
    await outage(world, { what: `${configurationAway.name} at a start`, stops: stack.url }, async () => {
      await world.kill(world.component('router'));
      const withoutCopy = { ...stack.routerEnv, ROUTER_PORT: '0', CONFIG_URL: url };
      const refused = await startProgram('gateway/main.ts', withoutCopy).catch((error: unknown) => error);
      world.expect(refused instanceof ProgramFailed && refused.exitCode === 1, 'the router started without a copy');
      await stack.restartRouter(env);
    });
    world.fault(restart(world));
    await stack.router.stop();
    await stack.restartRouter();
    world.repaired('restart');
    rmSync(copies, { recursive: true });
  },
};

/**
 * MDM is unavailable for an hour, simulated sixty times as fast: the pauses between attempts grow to 5 s instead of
 * 300 s, and the attempts end after 1440 s instead of a day.
 */
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
        json: { available },
      });
    await outage(world, { what: mdmAway.name, spares: allOthers }, async () => {
      await setAvailable(false);
      const before = heardOf();
      await underLoad(world, { clients: 1, pauseMs: 200, patchesPerSecond: 4 }, () => pause(60_000));
      const heard = heardOf() - before;
      world.expect(heard === 0, `MDM was notified of ${heard} changes while it was unavailable`);
      await setAvailable(true);
    });
    world.expect((await world.untilAtRest({ timeoutMs: 150_000 })) === undefined, 'MDM was not told of every PATCH');
  },
};

export const surroundingsCases: readonly Case[] = [providerAway, providerAwayAtStart, configurationAway, mdmAway];
