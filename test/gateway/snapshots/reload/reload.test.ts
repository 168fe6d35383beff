// Tests of reloads: a running router applies a new configuration completely or not at all, and reports the result.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pollUntil } from '../../../stack/poll-until.ts';
import { byDepth } from '../../../run/depth.ts';
import { mapWith, type ReloadableRouter, startReloadableRouter } from './reloadable-router.ts';

let router: ReloadableRouter;
const says = async (path = '/held?now') => (await fetch(`${router.url}${path}`)).text();
const successful = async () => (await router.counts())['router_config_last_reload_successful'];

beforeAll(async () => {
  router = await startReloadableRouter();
});
afterAll(() => router?.stop());

describe('a valid configuration', () => {
  beforeEach(async () => {
    router.write('map.yml', mapWith());
    router.write('router.properties', `oauth.issuer=${router.issuer}\n`);
    expect(await router.reload()).toBe('applied');
  });

  it('a changed gateway configuration: its policies, pipelines and OpenAPI document take effect', async () => {
    router.write('map.yml', mapWith({ says: 'second' }).replace('The movies prototype', 'Films'));
    expect(await router.reload()).toBe('applied');
    expect(await says()).toBe('second');
    expect(await says('/openapi.json')).toContain('Films');
  });

  it('a changed property takes effect in everything that is created from it', async () => {
    expect((await fetch(`${router.url}/docs`)).status).toBe(200);
    router.write('router.properties', `oauth.issuer=${router.issuer}\nrouter.docs=false\nlog.level=warn\n`);
    expect(await router.reload()).toBe('applied');
    expect((await fetch(`${router.url}/docs`)).status).toBe(404);
  });

  it('a college gets its own task domain, and loses it: the metric of worker polls follows', async () => {
    const polled = async (taskType: string) => {
      const pattern = new RegExp(`^router_worker_last_poll_seconds\\{task_type="${taskType}",domain="(.*)"\\}$`);
      return Object.keys(await router.counts()).flatMap((series) => pattern.exec(series)?.[1] ?? []);
    };
    expect(await polled('college-adaptor_intake')).toEqual(['', '002']);
    const own = 'adaptor.003.domain=campus-b\n';
    router.write('router.properties', `oauth.issuer=${router.issuer}\n${own}`);
    expect(await router.reload()).toBe('applied');
    expect(await polled('college-adaptor_intake')).toEqual(['', '002', 'campus-b']);
    expect(await polled('mdm_share')).toEqual(['002', 'campus-b']);
    expect(await polled('movies_intake')).toEqual(['']);
    router.write('router.properties', `oauth.issuer=${router.issuer}\n`);
    expect(await router.reload()).toBe('applied');
    expect(await polled('mdm_share')).toEqual(['002']);
  });

  it('an earlier request is handled by the old configuration, which is released when the request ends', async () => {
    const held = says('/held');
    const waits = async () => (await router.counts())['router_http_requests_in_flight'] === 1;
    await pollUntil('the request to be held', waits);
    router.write('map.yml', mapWith({ says: 'second' }));
    expect(await router.reload()).toBe('applied');
    expect(await says()).toBe('second');
    const counted = async (count: number) => (await router.counts())['router_config_snapshots'] === count;
    await pollUntil('the old configuration to be the only other one', () => counted(2));
    await says('/held?go');
    expect(await held).toBe('first');
    await pollUntil('the old configuration to be gone', () => counted(1));
  });

  it('counts continue: requests before the reload count against the limit', async () => {
    const before = (await fetch(`${router.url}/counted`)).headers.get('ratelimit');
    expect(before).toMatch(/^"route";r=2/);
    expect(await router.reload()).toBe('applied');
    expect((await fetch(`${router.url}/counted`)).headers.get('ratelimit')).toMatch(/^"route";r=1/);
    const limit = 'rate-limit: { action: { requests: 3, perSeconds: 600, by: route }';
    const ofPosts = limit.replace('{', '{ condition: { name: method, methods: [POST] },');
    router.write('map.yml', mapWith().replace(`- ${limit} }`, `- ${ofPosts} }\n      - ${limit} }`));
    expect(await router.reload(), 'with another step before it').toBe('applied');
    expect((await fetch(`${router.url}/counted`)).headers.get('ratelimit')).toMatch(/^"route";r=0/);
  });

  it('keys that need a restart, such as the port: a notice names them, and everything else takes effect', async () => {
    router.write('map.yml', mapWith({ says: 'second' }));
    const properties = `oauth.issuer=${router.issuer}\nadmission.initialLimit=9\nconductor.connections=7\n`;
    router.write('router.properties', properties);
    expect(await router.reload()).toBe('applied');
    expect(await says()).toBe('second');
    expect(await router.notice()).toContain('conductor.connections, admission.initialLimit');
    router.write('map.yml', mapWith({ port: '1' }));
    expect(await router.reload()).toBe('applied');
    expect(await says()).toBe('first');
    expect(await router.notice()).toContain('http.port of the gateway configuration');
    expect((await router.counts())['router_config_keys_awaiting_restart']).toBe(3);
    const warning = 'these keys take effect only after a restart';
    await pollUntil('the warning in the log', () => router.program.output().includes(warning));
    router.write('map.yml', mapWith());
    router.write('router.properties', `oauth.issuer=${router.issuer}\n`);
    expect(await router.reload()).toBe('applied');
    expect(await router.notice()).toBe('');
  });

  it('limits in a Redis that the router is not connected to: both keys need a restart, and everything else takes effect', async () => {
    router.write('map.yml', mapWith({ says: 'second' }));
    const redis = 'redis.url=redis://127.0.0.1:9\nlimits.store=redis\n';
    router.write('router.properties', `oauth.issuer=${router.issuer}\n${redis}`);
    expect(await router.reload()).toBe('applied');
    expect(await says()).toBe('second');
    expect((await fetch(`${router.url}/counted`)).headers.get('ratelimit')).toMatch(/^"route";/);
    expect(await router.notice()).toContain('only after a restart: redis.url, limits.store');
  });
});

describe('an invalid configuration', () => {
  const issuer = () => `oauth.issuer=${router.issuer}\n`;
  /**
   * Number of the current case. The text that a case applies contains this number, and so differs from the text that
   * was active before.
   */
  let round = 0;
  const cases: [name: string, file: 'map.yml' | 'router.properties', text: () => string, why: RegExp][] = [
    ['invalid YAML', 'map.yml', () => 'http: [\n', /map\.yml:2:1: Flow sequence in block collection must be/],
    ['an empty file', 'map.yml', () => '', /map\.yml:1:1: must be an object/],
    ['null instead of an object', 'map.yml', () => '# a comment\nnull\n', /map\.yml:2:1: must be an object/],
    [
      'a policy that no plugin provides',
      'map.yml',
      () => mapWith().replace(', held]', ', held, gone]'),
      /provides .{1,2}gone/,
    ],
    [
      'an unknown parameter',
      'map.yml',
      () => mapWith().replaceAll('says:', 'shouts:'),
      /unknown parameter .{1,2}shouts/,
    ],
    ['a plugin that does not exist', 'map.yml', () => mapWith().replace('PLUGIN', './gone.ts'), /cannot be loaded/],
    [
      'a missing description of a back end',
      'map.yml',
      () => mapWith().replace('movies.yml', 'films.yml'),
      /films\.yml/,
    ],
    [
      'a property that is not a number',
      'router.properties',
      () => `${issuer()}router.drainMs=soon\n`,
      /router\.drainMs/,
    ],
    [
      'an unknown property',
      'router.properties',
      () => `${issuer()}router.drain=1\n`,
      /router\.drain is not a known key/,
    ],
    ['no issuer', 'router.properties', () => '', /oauth\.issuer is not set/],
    [
      'an issuer without keys',
      'router.properties',
      () => 'oauth.issuer=http://127.0.0.1:9\n',
      /keys of the identity provider are not loaded/,
    ],
    [
      'a version that cannot be checked because the engine is unavailable',
      'map.yml',
      () => mapWith({ says: 'after' }).replace('moviesWF, version: 1', 'moviesWF, version: 7'),
      /definitions: /,
    ],
    [
      'limits in Redis without its address',
      'router.properties',
      () => `${issuer()}limits.store=redis\n`,
      /limits\.store = redis needs redis\.url/,
    ],
    [
      'an algorithm that cannot be accepted',
      'router.properties',
      () => `${issuer()}oauth.algorithms=none\n`,
      /oauth\.algorithms has unsupported values: none/,
    ],
  ];

  it.each(cases)(
    '%s: nothing changes, the metric reports the failure, and log and notice give the reason',
    async (_name, file, text, why) => {
      const before = await says();
      const after = `after-${++round}`;
      const written = router.program.output().length;
      router.write('router.properties', issuer());
      router.write('map.yml', mapWith({ says: after }));
      router.write(file, text());
      expect(await router.reload()).toBe('refused');
      expect(await says()).toBe(before);
      expect(await successful()).toBe(0);
      expect(await router.notice()).toMatch(why);
      await pollUntil('the reason to be logged', () => why.test(router.program.output().slice(written)));
      router.write('map.yml', mapWith({ says: after }));
      router.write('router.properties', issuer());
      expect(await router.reload()).toBe('applied');
      expect(await says()).toBe(after);
      expect(await successful()).toBe(1);
      expect(await router.notice()).toBe('');
    },
  );
});

it.each([
  ['throws an error', 'throw new Error("unset");', /-faulty\.ts cannot be loaded: unset(; if .+ restart the router)?/],
  ['lacks exports', "export const version = '1.0.0';", /-faulty\.ts must export [^;\n]+(; if .+ restart the router)?/],
])(
  'a plugin that %s: once it has been corrected, the problem says that the router must be restarted',
  async (name, faulty, problem) => {
    const file = `${name.replaceAll(' ', '-')}-faulty.ts`;
    router.write(file, faulty);
    router.write('map.yml', mapWith().replace('PLUGIN', join(router.dir, file)));
    expect(await router.reload()).toBe('refused');
    expect(problem.exec(await router.notice())).toMatchObject({ 1: undefined });
    router.write(file, readFileSync(join(router.dir, 'plugin.ts'), 'utf8'));
    expect(await router.reload()).toBe('refused');
    expect(problem.exec(await router.notice())).toMatchObject({ 1: expect.any(String) });
    router.write('map.yml', mapWith());
    expect(await router.reload()).toBe('applied');
  },
);

it('a plugin with a syntax error is loaded once it has been corrected', async () => {
  router.write('corrected.ts', 'export const version = ;');
  router.write('map.yml', mapWith({ says: 'corrected' }).replace('PLUGIN', join(router.dir, 'corrected.ts')));
  expect(await router.reload()).toBe('refused');
  expect(await router.notice()).toContain('corrected.ts cannot be loaded');
  router.write('corrected.ts', readFileSync(join(router.dir, 'plugin.ts'), 'utf8'));
  expect(await router.reload()).toBe('applied');
  expect(await says()).toBe('corrected');
  router.write('map.yml', mapWith());
  expect(await router.reload()).toBe('applied');
});

// These tests come last, because the second signal may cause a further reload after a test has ended.
describe('concurrent signals', () => {
  it('two signals at once: the files as of the last signal become active', async () => {
    for (const round of byDepth(['a', 'b'], ['a', 'b', 'c', 'd', 'e'])) {
      router.write('map.yml', mapWith({ says: `${round}1` }));
      router.program.process.kill('SIGHUP');
      router.write('map.yml', mapWith({ says: `${round}2` }));
      router.program.process.kill('SIGHUP');
      await pollUntil('the last files to be active', async () => (await says()) === `${round}2`);
    }
    expect(await successful()).toBe(1);
  });
});
