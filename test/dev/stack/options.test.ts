// Tests of the flags and settings of `npm start`, and of the environment of its programs.

import { describe, expect, it } from 'vitest';
import { help, parseFlags, readSettings } from '../../../dev/stack/options.ts';
import { configSchema } from '#lib/config/schema.ts';
import { stackPorts } from '../../../dev/setup/ports.mjs';
import { programsOf } from '../../../dev/stack/programs.ts';

describe('parseFlags', () => {
  it('knows --verbose and --help', () => {
    expect(parseFlags([])).toEqual({ verbose: false, help: false, store: 'sqlite' });
    expect(parseFlags(['--verbose', '--help'])).toMatchObject({ verbose: true, help: true });
  });

  it('refuses an unknown flag and shows the known ones', () => {
    expect(() => parseFlags(['--vebrose'])).toThrow(/Unknown option '--vebrose'[\s\S]*Usage: npm start/);
    expect(help).toContain('--verbose');
  });
});

describe('--store', () => {
  it('knows sqlite and redis, and refuses another store', () => {
    for (const store of ['sqlite', 'redis']) expect(parseFlags(['--store', store])).toMatchObject({ store });
    expect(() => parseFlags(['--store', 'oracle'])).toThrow(/--store oracle is not one of sqlite, redis[\s\S]*Usage/);
  });

  it('redis: gives the router the Redis server of the engine, and the pruner no database', async () => {
    const { redisPort, env } = await readSettings({}, { store: 'redis' });
    expect(env['REDIS_URL']).toBe(`redis://127.0.0.1:${redisPort}`);
    expect(env['CONDUCTOR_DATABASEURL']).toBeUndefined();
    expect((await readSettings({})).env['REDIS_URL']).toBeUndefined();
  });

  it('redis: the router uses the Redis server that the configuration names', async () => {
    const { redisPort, env } = await readSettings({ REDIS_URL: 'redis://cache.example:1' }, { store: 'redis' });
    expect(redisPort).toBeGreaterThan(0);
    expect(env['REDIS_URL']).toBe('redis://cache.example:1');
  });

  it('redis: refuses a given engine', async () => {
    const given = readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' }, { store: 'redis' });
    await expect(given).rejects.toThrow('--store redis requires that the stack starts the engine');
  });
});

describe('readSettings', () => {
  it('refuses production', async () => {
    await expect(readSettings({ NODE_ENV: 'production' })).rejects.toThrow('refuses NODE_ENV=production');
  });

  it('has the default ports when nothing is set', async () => {
    const { ports, urls, givenEngine } = await readSettings({});
    expect(ports.map(({ variable, port }) => `${variable}=${port}`)).toEqual([
      'ROUTER_PORT=8080',
      'OPS_PORT=8081',
      'CONDUCTOR_PORT=8082',
      'IDP_PORT=8083',
      'BACKENDS_PORT=8084',
    ]);
    expect(urls.engine).toBe('http://127.0.0.1:8082');
    expect(givenEngine).toBeUndefined();
  });

  it('the default ports in ports.mjs (used before the installation) are those of the configuration', () => {
    for (const { key, port } of stackPorts) expect(configSchema.properties[key]).toMatchObject({ default: port });
  });

  it('derives every address from the ports', async () => {
    const { env } = await readSettings({ ROUTER_PORT: '1', CONDUCTOR_PORT: '3', IDP_PORT: '4', BACKENDS_PORT: '5' });
    expect(env).toMatchObject({
      ROUTER_PORT: '1',
      OPS_PORT: '8081',
      CONDUCTOR_URL: 'http://127.0.0.1:3',
      CONDUCTOR_APIURL: 'http://127.0.0.1:1/conductor/api',
      OAUTH_ISSUER: 'http://127.0.0.1:4',
      OAUTH_AUDIENCE: 'urn:service-router',
      ADAPTOR_001_URL: 'http://127.0.0.1:5/adaptors/001',
      MDM_URL: 'http://127.0.0.1:5/mdm',
      WORKERS_CLIENTID: 'worker',
    });
  });

  it('gives the pruner the database of the stack’s own engine, and none for a given engine', async () => {
    const own = await readSettings({ STATE_DIR: '/tmp/a-stack' });
    expect(own.env['CONDUCTOR_DATABASEURL']).toBe('sqlite:/tmp/a-stack/engine/conductor.db');
    expect(programsOf(own).map(({ entry }) => entry)).toContain('jobs/prune/main.ts');
    const given = await readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' });
    expect(given.env['CONDUCTOR_DATABASEURL']).toBeUndefined();
    const named = await readSettings({ CONDUCTOR_DATABASEURL: 'postgresql://u:p@db/conductor' });
    expect(named.env['CONDUCTOR_DATABASEURL']).toBe('postgresql://u:p@db/conductor');
  });

  it('gives no program the address of a database in a virtual machine', async () => {
    const hidden = { isShared: async () => false };
    const { env, isDatabaseHidden } = await readSettings({}, hidden);
    expect([env['CONDUCTOR_DATABASEURL'], isDatabaseHidden]).toEqual([undefined, true]);
    const given = await readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' }, hidden);
    expect(given.isDatabaseHidden).toBe(false);
  });

  it('keeps values that the environment sets', async () => {
    const { env } = await readSettings({
      MOVIES_URL: 'http://films.example',
      OAUTH_ISSUER: 'https://login.example',
      BACKENDS_PORT: '5',
    });
    expect(env).toMatchObject({ MOVIES_URL: 'http://films.example', OAUTH_ISSUER: 'https://login.example' });
    expect(env['OAUTH_AUDIENCE']).toBeUndefined();
  });

  it('uses a given engine and needs no port for one', async () => {
    const { givenEngine, ports, urls } = await readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' });
    expect(givenEngine).toBe('http://engine.example:9000');
    expect(urls.engine).toBe('http://engine.example:9000');
    expect(ports.map(({ variable }) => variable)).not.toContain('CONDUCTOR_PORT');
  });

  it.each([{ OAUTH_ISSUER: 'https://login.example' }, { 'oauth.issuer': 'https://login.example' }])(
    'uses a given identity provider (%o), starts none and needs no port for one',
    async (env) => {
      const settings = await readSettings(env);
      expect(settings).toMatchObject({ givenIssuer: 'https://login.example', workersClient: 'worker' });
      expect(settings.urls.identityProvider).toBe('https://login.example');
      expect(settings.ports.map(({ variable }) => variable)).not.toContain('IDP_PORT');
      expect(programsOf(settings).map(({ name }) => name)).not.toContain('identity-provider');
      const own = await readSettings({});
      expect(own.givenIssuer).toBeUndefined();
      expect(programsOf(own).map(({ name }) => name)).toContain('identity-provider');
    },
  );

  it('clears WORKERS_TASKTYPES for the workers beside adaptors', async () => {
    const beside = programsOf(await readSettings({})).filter(({ name }) => name.startsWith('workers-'));
    expect(beside.length).toBeGreaterThan(0);
    for (const { env } of beside) expect(env).toMatchObject({ WORKERS_TASKTYPES: '' });
  });

  it('picks free ports for those that are 0', async () => {
    const { ports, env } = await readSettings({ ROUTER_PORT: '0', OPS_PORT: '0' });
    const [router, operations] = ports.map(({ port }) => port);
    expect(router).toBeGreaterThan(0);
    expect(operations).not.toBe(router);
    expect(env['ROUTER_PORT']).toBe(String(router));
  });
});
