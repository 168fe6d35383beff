// Tests of reloads over the lifetime of a router: on changes of watched files, many in a row, and while it stops.

import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { pollUntil } from '../../../stack/poll-until.ts';
import { mapWith, type ReloadableRouter, startReloadableRouter } from './reloadable-router.ts';
import { pathOf } from '../../../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../../../stack/redis-server.ts';
import { byDepth } from '../../../run/depth.ts';

it('reload.watchMs: applies files that an editor saves or a ConfigMap updates, without a signal', async () => {
  const router = await startReloadableRouter({ RELOAD_WATCHMS: '20' });
  onTestFinished(() => router.stop());
  const { url, dir, write } = router;
  const saysNow = (text: string) =>
    pollUntil(
      `the gateway configuration that says ${text}`,
      async () => (await (await fetch(`${url}/held?now`)).text()) === text,
    );
  await saysNow('first');
  write('map.yml.new', mapWith({ says: 'saved' }));
  renameSync(join(dir, 'map.yml.new'), join(dir, 'map.yml'));
  await saysNow('saved');
  const publish = (says: string) => {
    mkdirSync(join(dir, `..${says}`));
    write(`..${says}/map.yml`, mapWith({ says }));
    symlinkSync(`..${says}`, join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
  };
  publish('one');
  rmSync(join(dir, 'map.yml'));
  symlinkSync('..data/map.yml', join(dir, 'map.yml'));
  await saysNow('one');
  publish('two');
  rmSync(join(dir, '..one'), { recursive: true });
  await saysNow('two');
  const properties = join(dir, 'router.properties');
  writeFileSync(properties, `${readFileSync(properties, 'utf8')}router.docs=false\n`);
  await pollUntil('the property to take effect', async () => (await fetch(`${url}/docs`)).status === 404);
});

it('a stop while a plugin hangs in a reload: the router ends once router.drainMs has passed', async () => {
  const router = await startReloadableRouter({ ROUTER_DRAINMS: '100' });
  onTestFinished(() => router.stop());
  const { dir, program, write } = router;
  const hanging = `${readFileSync(join(dir, 'plugin.ts'), 'utf8').replace('export function init', 'function create')}
export function init(context) {
  create(context);
  console.log('the plugin hangs');
  return new Promise(() => undefined);
}
`;
  write('hanging.ts', hanging);
  write('map.yml', mapWith().replace('PLUGIN', join(dir, 'hanging.ts')));
  program.process.kill('SIGHUP');
  await pollUntil('the plugin to hang', () => program.output().includes('the plugin hangs'));
  program.process.kill('SIGTERM');
  await pollUntil('the router to end', () => program.process.exitCode !== null);
  expect(program.process.exitCode).toBe(0);
});

/** Returns the resources that keep a process running, by kind: timers, sockets, servers. */
function resourcesOf(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([series]) => series.startsWith('nodejs_active_resources{')));
}

describe('a router that reloads on a signal', () => {
  let router: ReloadableRouter;
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = pathOf('redis-server') === undefined ? undefined : await startRedisServer();
    router = await startReloadableRouter(redis === undefined ? {} : { REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await router?.stop();
    await redis?.stop();
  });

  it('many reloads: no more timers, sockets or series than after the first', async () => {
    const { reload, write, counts, issuer } = router;
    // Each configuration has its own copy of the provider's keys, and its own timers, connections, pipelines and store
    // of counts.
    const change = async (round: number) => {
      write('map.yml', mapWith({ says: `round${round}` }));
      const store = redis !== undefined && round % 2 === 1 ? 'redis' : 'memory';
      const properties = [`oauth.issuer=${issuer}`, `oauth.jwksCacheSeconds=${100 + round}`, `limits.store=${store}`];
      write('router.properties', properties.join('\n'));
      expect(await reload()).toBe('applied');
    };
    const settled = (label: string) =>
      pollUntil(label, async () => {
        const now = await counts();
        return now['router_config_snapshots'] === 1 ? now : undefined;
      });
    await change(1);
    const before = await settled('the first changed configuration to be the only one left');
    for (let round = 2; round <= byDepth(5, 21); round++) await change(round);
    let after = await settled('the last configuration to be the only one left');
    const sum = (found: typeof before) => Object.values(resourcesOf(found)).reduce((all, count) => all + count, 0);
    // The test's own connections to the operations port come and go.
    await pollUntil('timers and sockets to be as few as before', async () => {
      after = await counts();
      return sum(after) <= sum(before) + 2;
    }).catch(() => expect(resourcesOf(after)).toEqual(resourcesOf(before)));
    const names = (found: typeof before) =>
      Object.keys(found).filter((series) => series.startsWith('router_') && !series.includes('{'));
    expect(names(after)).toEqual(names(before));
  });

  // The last test, because it stops the router.
  it('a reload while the router stops: nothing changes, requests complete, and the exit code is 0', async () => {
    const { url, program, write, counts, reload } = router;
    write('map.yml', mapWith());
    expect(await reload()).toBe('applied');
    const held = fetch(`${url}/held`).then((response) => response.text());
    await pollUntil('the request to be held', async () => (await counts())['router_http_requests_in_flight'] === 1);
    write('map.yml', mapWith({ says: 'late' }));
    program.process.kill('SIGTERM');
    // Of two pending signals, a process receives the one with the lower number first.
    await pollUntil('the stop to have begun', () => program.output().includes('"stopping"'));
    program.process.kill('SIGHUP');
    await pollUntil('the reload to be refused', () => program.output().includes('the configuration is not reloaded'));
    expect(await (await fetch(`${url}/held?go`)).text()).toBe('gone');
    expect(await held).toBe('first');
    // A second SIGTERM would end the router at once.
    await pollUntil('the router to end', () => program.process.exitCode !== null);
    expect(program.process.exitCode).toBe(0);
  });
});
