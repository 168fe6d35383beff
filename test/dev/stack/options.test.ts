// Tests of the flags and settings of `npm start`, and of the environment of its programs.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { help, parseFlags, readSettings } from '../../../dev/stack/options.ts';
import { configSchema } from '#lib/config/schema.ts';
import { stackPorts } from '../../../dev/setup/ports.mjs';
import { programsOf } from '../../../dev/stack/programs.ts';

describe('parseFlags', () => {
  it('knows --verbose and --help', () => {
    expect(parseFlags([])).toEqual({ verbose: false, help: false, store: 'sqlite' });
    expect(parseFlags(['--verbose', '--help'])).toMatchObject({ verbose: true, help: true });
  });

  it('rejects an unknown flag and shows the known flags', () => {
    expect(() => parseFlags(['--vebrose'])).toThrow(/Unknown option '--vebrose'[\s\S]*Usage: npm start/);
    expect(help).toContain('--verbose');
  });
});

describe('--store', () => {
  it('accepts sqlite and redis, and rejects any other store', () => {
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

  it('redis: rejects a given engine', async () => {
    const given = readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' }, { store: 'redis' });
    await expect(given).rejects.toThrow('--store redis requires that the stack starts the engine');
  });
});

describe('readSettings', () => {
  it('refuses to run in production', async () => {
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
    for (const { hostKey } of stackPorts)
      if (hostKey !== undefined) expect(configSchema.properties[hostKey]).toMatchObject({ default: '127.0.0.1' });
  });

  it('has the listening address of each port whose address can be set', async () => {
    const { ports } = await readSettings({ ROUTER_HOST: '0.0.0.0', BACKENDS_HOST: '::1' });
    expect(Object.fromEntries(ports.map(({ use, host }) => [use, host]))).toEqual({
      router: '0.0.0.0',
      'operations server': '127.0.0.1',
      'back ends': '::1',
    });
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

  it('starts an engine when CONDUCTOR_URL is empty', async () => {
    const { givenEngine, env } = await readSettings({ CONDUCTOR_URL: '' });
    expect([givenEngine, env['CONDUCTOR_URL']]).toEqual([undefined, 'http://127.0.0.1:8082']);
  });

  it('uses a given engine and needs no port for an engine', async () => {
    const { givenEngine, ports, urls } = await readSettings({ CONDUCTOR_URL: 'http://engine.example:9000' });
    expect(givenEngine).toBe('http://engine.example:9000');
    expect(urls.engine).toBe('http://engine.example:9000');
    expect(ports.map(({ variable }) => variable)).not.toContain('CONDUCTOR_PORT');
  });

  it.each([{ OAUTH_ISSUER: 'https://login.example' }, { 'oauth.issuer': 'https://login.example' }])(
    'uses a given identity provider (%o), and neither starts one nor needs a port for one',
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

  it('picks a free port for each port that is set to 0', async () => {
    const { ports, env } = await readSettings({ ROUTER_PORT: '0', OPS_PORT: '0' });
    const [router, operations] = ports.map(({ port }) => port);
    expect(router).toBeGreaterThan(0);
    expect(operations).not.toBe(router);
    expect(env['ROUTER_PORT']).toBe(String(router));
  });
});

describe('readSettings of a gateway with its own config/default.properties', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'options-'));
    mkdirSync(join(folder, 'config'));
    writeFileSync(join(folder, 'gateway.config.yml'), '');
    vi.spyOn(process, 'cwd').mockReturnValue(folder);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });
  const read = (lines: readonly string[], env: NodeJS.ProcessEnv = {}, store?: 'redis') => {
    writeFileSync(join(folder, 'config/default.properties'), lines.join('\n'));
    return readSettings(env, { isShared: async () => true, ...(store && { store }) });
  };

  const clients = ['workers.clientId=mine', 'workers.clientSecret=x', 'ops.clientId=operator', 'ops.clientSecret=y'];

  it('keeps its clients with a given identity provider', async () => {
    const { env, workersClient } = await read(['oauth.issuer=https://login.example', ...clients]);
    expect(workersClient).toBe('mine');
    const names = ['WORKERS_CLIENTID', 'WORKERS_CLIENTSECRET', 'OPS_CLIENTID', 'OPS_CLIENTSECRET'];
    expect(Object.keys(env).filter((name) => names.includes(name))).toEqual([]);
  });

  it('uses the development clients with the identity provider of the stack, which knows no others', async () => {
    const { env } = await read(clients);
    expect(env).toMatchObject({
      WORKERS_CLIENTID: 'worker',
      WORKERS_CLIENTSECRET: 'worker-secret',
      OPS_CLIENTID: 'ops',
      OPS_CLIENTSECRET: 'ops-secret',
    });
  });

  it('keeps its audience, for which the identity provider of the stack then issues tokens', async () => {
    expect((await read(['oauth.audience=urn:mine'])).env).toMatchObject({ OAUTH_AUDIENCE: 'urn:mine' });
    const overridden = await read(['oauth.audience=urn:mine'], { OAUTH_AUDIENCE: 'urn:other' });
    expect(overridden.env).toMatchObject({ OAUTH_AUDIENCE: 'urn:other' });
    expect((await read([], { OAUTH_AUDIENCE: '' })).env).toMatchObject({ OAUTH_AUDIENCE: 'urn:service-router' });
  });

  it('keeps its Redis and its database', async () => {
    const redis = await read(['redis.url=redis://cache.example:1'], {}, 'redis');
    expect(redis).toMatchObject({ redisUrl: 'redis://cache.example:1' });
    expect(redis.env['REDIS_URL']).toBeUndefined();
    const { env } = await read(['conductor.databaseURL=postgresql://u:p@db/conductor']);
    expect(env['CONDUCTOR_DATABASEURL']).toBeUndefined();
  });

  it('adapts its router address to the port of the stack', async () => {
    const { env } = await read(['conductor.apiURL=http://127.0.0.1:8080/conductor/api'], { ROUTER_PORT: '1' });
    expect(env['CONDUCTOR_APIURL']).toBe('http://127.0.0.1:1/conductor/api');
  });
});

describe('the addresses of programs that listen on other hosts', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::1', '[::1]'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '127.0.0.1'],
  ])('%s → URLs with the host %s', async (host, inUrl) => {
    const hosts = { ROUTER_HOST: host, OPS_HOST: host, BACKENDS_HOST: host };
    const { urls, env } = await readSettings(hosts);
    expect(urls).toEqual({
      router: `http://${inUrl}:8080`,
      operations: `http://${inUrl}:8081`,
      engine: 'http://127.0.0.1:8082',
      identityProvider: 'http://127.0.0.1:8083',
      backEnds: `http://${inUrl}:8084`,
    });
    expect(env).toMatchObject({
      CONDUCTOR_APIURL: `http://${inUrl}:8080/conductor/api`,
      MOVIES_URL: `http://${inUrl}:8084/movies`,
    });
  });
});

describe('the addresses of a router with TLS', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'options-tls-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Creates a self-signed certificate. Returns the variables that name it. */
  function certificate(names: string): { ROUTER_TLSCERTIFICATEFILE: string; ROUTER_TLSKEYFILE: string } {
    const [cert, key] = [join(folder, 'router.crt'), join(folder, 'router.key')];
    const kind = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=router', '-days', '1'];
    const files = ['-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert];
    execFileSync('openssl', [...kind, ...files], { stdio: 'ignore' });
    return { ROUTER_TLSCERTIFICATEFILE: cert, ROUTER_TLSKEYFILE: key };
  }

  it('are https URLs, and the programs trust the certificate of the router', async () => {
    const tls = certificate('IP:127.0.0.1');
    const { urls, env } = await readSettings(tls);
    expect(urls).toMatchObject({ router: 'https://127.0.0.1:8080', operations: 'http://127.0.0.1:8081' });
    expect(env).toMatchObject({
      CONDUCTOR_APIURL: 'https://127.0.0.1:8080/conductor/api',
      NODE_EXTRA_CA_CERTS: tls.ROUTER_TLSCERTIFICATEFILE,
    });
    expect((await readSettings({ ...tls, NODE_EXTRA_CA_CERTS: 'ca.pem' })).env['NODE_EXTRA_CA_CERTS']).toBe('ca.pem');
    expect((await readSettings({})).env['NODE_EXTRA_CA_CERTS']).toBeUndefined();
  });

  it('are rejected when the certificate is for another name, unless the address of the router is set', async () => {
    const tls = certificate('DNS:router.example');
    await expect(readSettings(tls)).rejects.toThrow(
      /certificate is not for 127\.0\.0\.1.*its names: DNS:router\.example.*Set CONDUCTOR_APIURL/,
    );
    const named = await readSettings({ ...tls, CONDUCTOR_APIURL: 'https://router.example:8080/conductor/api' });
    expect(named.env['CONDUCTOR_APIURL']).toBe('https://router.example:8080/conductor/api');
  });

  it('are rejected when the certificate cannot be read', async () => {
    const tls = { ROUTER_TLSCERTIFICATEFILE: join(folder, 'none.crt'), ROUTER_TLSKEYFILE: join(folder, 'none.key') };
    await expect(readSettings(tls)).rejects.toThrow(/router\.tlsCertificateFile: .*none\.crt cannot be read/);
  });
});
