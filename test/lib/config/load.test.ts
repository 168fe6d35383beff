// Tests of the configuration layers, their order, and the error messages.

import { createServer, type Server } from 'node:http';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeConfig } from '#lib/config/describe.ts';
import { variableOf } from '#lib/config/environment.ts';
import { gatewayDir } from '#lib/config/folders.ts';
import { type ConfigError, loadConfig, localFilesOf } from '#lib/config/load.ts';
import { type ConfigKey, configSchema } from '#lib/config/schema.ts';
import { pollUntil } from '../../stack/poll-until.ts';

let dir: string;
let server: Server;
let base: string;
/** Body of every response; null = 404; undefined = depends on the path. */
let served: string | null | undefined;
let requests: { url: string | undefined; authorization: string | undefined }[] = [];
/** Number of connections with a response for `/endless.properties`: the open ones, and all since the start. */
const endless = { open: 0, all: 0 };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'service-router-config-'));
  server = createServer((request, response) => {
    requests.push({ url: request.url, authorization: request.headers.authorization });
    if (served === null || request.url === '/missing.properties') response.writeHead(404).end();
    else if (served !== undefined) response.end(served);
    else if (request.url === '/never.properties') return;
    else if (request.url === '/endless.properties') {
      endless.open += 1;
      endless.all += 1;
      response.on('close', () => (endless.open -= 1)).writeHead(503);
      response.write('an error page');
    } else if (request.url === '/malformed.properties') response.end('router.port=\\u00zz\n');
    else if (request.url === '/moved.properties') response.writeHead(302, { location: '/r.properties' }).end();
    else response.end('router.port=1002\nrouter.drainMs=1002\n! comment\nlmsDW.url : http://127.0.0.1/a\\\n    b\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true });
});

function fileLayer(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return pathToFileURL(join(dir, name)).href;
}

const movedProblem = () =>
  `${base}/moved.properties cannot be read: the server responded with 302: redirects are not followed, so config.url must contain the final address`;

const problemsOf = async (env: NodeJS.ProcessEnv, required: never[] = []) =>
  loadConfig({ env, required }).then(
    () => [],
    (error: ConfigError) => error.problems,
  );

describe('layers', () => {
  it('later layers override earlier ones: defaults, remote files in order, environment', async () => {
    const first = fileLayer('first.properties', 'router.port=1001\nops.port=1001\nrouter.responseDeadlineMs=1001\n');
    const { config, origins } = await loadConfig({
      env: { CONFIG_URL: `${first},${base}/r.properties`, ROUTER_PORT: '1003' },
    });
    expect(config['ops.port']).toBe(1001);
    expect(config['router.drainMs']).toBe(1002);
    expect(config['router.port']).toBe(1003);
    expect(config['movies.url']).toBe('http://127.0.0.1:8084/movies');
    expect(origins).toMatchObject({
      'ops.port': first,
      'router.drainMs': `${base}/r.properties`,
      'router.port': 'environment',
      'movies.url': 'config/default.properties',
    });
  });

  it('full .properties syntax is read: separators, comments, continued lines', async () => {
    const { config } = await loadConfig({ env: { CONFIG_URL: `${base}/r.properties` } });
    expect(config['lmsDW.url']).toBe('http://127.0.0.1/ab');
  });

  it('variables set keys in either spelling, including the address of an adaptor by its MIS code', async () => {
    const env = {
      CONDUCTOR_APIURL: 'http://a/b',
      'oauth.audience': 'x',
      ADAPTOR_5A1_URL: 'http://c/',
      WORKERS_TASKTYPES: 'a, b',
    };
    const { config } = await loadConfig({ env });
    expect(config['conductor.apiURL']).toBe('http://a/b');
    expect(config['oauth.audience']).toBe('x');
    expect(config['adaptor.5A1.url']).toBe('http://c/');
    expect(config['workers.taskTypes']).toEqual(['a', 'b']);
  });

  it('an empty variable counts as not set', async () => {
    const { config } = await loadConfig({ env: { SENTRY_DSN: '', ROUTER_PORT: '' } });
    expect(config['sentry.dsn']).toBeUndefined();
    expect(config['router.port']).toBe(8080);
  });

  it('a profile without a file is not an error', async () => {
    await expect(loadConfig({ env: { PROFILE: 'nobody' } })).resolves.toBeDefined();
  });

  it('the local files are the defaults and those that the environment names, even if they do not exist', () => {
    const addresses = 'file:///a/b.properties,http://h/c.properties,file://h/d.properties,e.properties';
    const config = (file: string) => join(gatewayDir(), file);
    expect(localFilesOf({ CONFIG_URL: addresses, PROFILE: 'p' })).toEqual([
      config('config/default.properties'),
      '/a/b.properties',
      config('config/p.properties'),
      config('.env.p'),
    ]);
    expect(localFilesOf({})).toEqual([config('config/default.properties')]);
  });

  it('the result is frozen', async () => {
    const { config } = await loadConfig({ env: {} });
    expect(() => Object.assign(config, { 'router.port': 1 })).toThrow(TypeError);
  });
});

describe('problems are all reported at once', () => {
  it('unknown keys, bad values, unreachable files and missing keys', async () => {
    const file = fileLayer(
      'bad.properties',
      'router.prot=1\nrouter.responseDeadlineMS=5\nops.port=x\nsentry.dsn=secret-text\n',
    );
    const problems = await problemsOf({ CONFIG_URL: `${file},${base}/missing.properties` }, ['oauth.issuer'] as never);
    expect(problems).toEqual([
      `${base}/missing.properties cannot be read: the server responded with 404`,
      expect.stringContaining('router.prot is not a known key'),
      expect.stringContaining('did you mean router.responseDeadlineMs?'),
      expect.stringContaining('ops.port must be an integer, but is "x"'),
      expect.stringMatching(/sentry\.dsn must be an http or https URL$/),
      'oauth.issuer is not set: set it in a property file or as OAUTH_ISSUER',
    ]);
  });

  it('malformed encryption keys, without repeating them', async () => {
    const short = Buffer.alloc(16, 7).toString('base64');
    const long = Buffer.alloc(33, 7).toString('base64');
    const problems = await problemsOf({ PAYLOAD_KEY: `k1:${short}`, PAYLOAD_DECRYPTIONKEYS: `k0:${long},no-id` });
    const expected = 'must be <key id>:<32 bytes in base64>; the id has at most 32 letters, digits, _ and -';
    expect(problems.toSorted()).toEqual([
      `environment: payload.decryptionKeys ${expected}`,
      `environment: payload.decryptionKeys ${expected}`,
      `environment: payload.key ${expected}`,
    ]);
  });

  it('back-end addresses with credentials, a query or a fragment, without repeating them', async () => {
    const problems = await problemsOf({
      ADAPTOR_003_URL: 'http://user:hush@h/',
      ADAPTOR_URL: 'http://h/?key=hush',
      LMSDW_URL: 'http://h/#hush',
      MOVIES_URL: 'ftp://hush',
      MDM_URL: 'https://h:8443/base',
    });
    expect(problems.toSorted()).toEqual([
      'environment: adaptor.003.url contains credentials: back ends are called without credentials',
      'environment: adaptor.url contains a query or a fragment: use the base URL only',
      'environment: lmsDW.url contains a query or a fragment: use the base URL only',
      'environment: movies.url must be a URL with http or https',
    ]);
  });

  it('an engine address with a path, a query or a fragment', async () => {
    const expected =
      'must be an http or https URL such as http://127.0.0.1:8082, without a path (the path of each call begins with /api)';
    expect(await problemsOf({ CONDUCTOR_URL: 'http://127.0.0.1:8082/,https://engine.example' })).toEqual([]);
    for (const path of ['/api', '/?a=b', '/#a'])
      expect(await problemsOf({ CONDUCTOR_URL: `http://user:hush@h:8082${path}` })).toEqual([
        `environment: conductor.url ${expected}, but is "http://********@h:8082${path}"`,
      ]);
  });

  it.each(['u:50%off@h', 'u%:25@h', 'u:a/b@h', 'h/abc', 'h/1/2'])(
    'a Redis address with faulty credentials or a faulty path, such as redis://%s, without repeating it',
    async (address) => {
      const problems = await problemsOf({ REDIS_URL: `redis://${address}` });
      expect(problems).toEqual([
        'environment: redis.url must be rediss://user:password@host:port, or redis://…; percent-encode special characters of the user and the password (% is %25); the path, if any, must be the number of a database, such as /1',
      ]);
    },
  );

  it.each(['redis:///1', 'redis:foo'])('a Redis address without a host, such as %s', async (address) => {
    expect(await problemsOf({ REDIS_URL: address })).toEqual([
      'environment: redis.url has no host: for a Redis on this machine, the host is 127.0.0.1',
    ]);
  });

  it('nothing about a valid Redis address, with or without credentials and a database number', async () => {
    for (const address of ['redis://h', 'rediss://h:6380/', 'REDIS://u:50%25off@[::1]:6379/12', 'redis://:p@h/0'])
      expect(await problemsOf({ REDIS_URL: address })).toEqual([]);
  });

  it('any other malformed URL, without its password', async () => {
    for (const password of ['hush', 'hu,sh', 'hu@sh', 'hu"sh', 'hu#sh', 'hu/sh', 'hu?sh']) {
      const [problem] = await problemsOf({ OAUTH_ISSUER: `htp://user:${password}@id.example.org` });
      expect(problem).toBe(
        'environment: oauth.issuer must be an http or https URL, but is "htp://********@id.example.org"',
      );
    }
  });

  it('a remote file address that is not a URL, without its password', async () => {
    expect(
      await problemsOf({ CONFIG_URL: `${base}/missing.properties,https://user:hu#sh@config.example/x` }),
    ).toContain('config.url: address 2 is not an http, https or file URL; in a password, write a comma as %2C');
  });

  it.each(['config/prod.properties', '.env.prod', 'config/default.properties'])(
    'a directory in place of %s, as Docker creates when the source of a bind mount does not exist; the problem names the file',
    async (file) => {
      const rootDir = mkdtempSync(join(dir, 'root-'));
      mkdirSync(join(rootDir, 'config'));
      if (!file.endsWith('default.properties')) writeFileSync(join(rootDir, 'config/default.properties'), '');
      mkdirSync(join(rootDir, file));
      await expect(loadConfig({ env: { PROFILE: 'prod' }, rootDir })).rejects.toMatchObject({
        problems: [`${file}: cannot be read: EISDIR: illegal operation on a directory, read`],
      });
    },
  );

  it('a local file that is missing, a directory or malformed, by its address', async () => {
    const folder = pathToFileURL(dir).href;
    expect(await problemsOf({ CONFIG_URL: folder })).toEqual([
      `${folder}: cannot be read: EISDIR: illegal operation on a directory, read`,
    ]);
    const missing = pathToFileURL(join(dir, 'none.properties')).href;
    expect(await problemsOf({ CONFIG_URL: missing })).toEqual([`${missing}: there is no such file`]);
    const malformed = fileLayer('malformed.properties', 'router.port=\\u00zz\n');
    expect(await problemsOf({ CONFIG_URL: malformed })).toEqual([
      expect.stringMatching(/\/malformed\.properties: cannot be read: ./),
    ]);
    const elsewhere = 'file://other-host/a.properties';
    expect(await problemsOf({ CONFIG_URL: elsewhere })).toEqual([
      expect.stringMatching(/^file:\/\/other-host\/a\.properties: cannot be read: File URL host must be/),
    ]);
  });

  it.skipIf(process.getuid?.() === 0)('a file without read permission, by name', async () => {
    const address = fileLayer('closed.properties', '');
    chmodSync(join(dir, 'closed.properties'), 0);
    expect(await problemsOf({ CONFIG_URL: address })).toEqual([
      expect.stringContaining(`${address}: cannot be read: EACCES`),
    ]);
  });

  it('a remote file whose server never responds, after the timeout and the retries', async () => {
    const [problem] = await problemsOf({ CONFIG_URL: `${base}/never.properties`, CONFIG_TIMEOUTMS: '50' });
    expect(problem).toContain('no response within 50 ms');
  });
});

describe('remote files', () => {
  it('are requested with the credentials of their URL, which appear in no message', async () => {
    requests = [];
    const address = `${base.replace('//', '//user:hush@')}/missing.properties`;
    const problems = await problemsOf({ CONFIG_URL: address });
    expect(requests[0]?.authorization).toBe(`Basic ${Buffer.from('user:hush').toString('base64')}`);
    expect(problems.join()).not.toContain('hush');
  });

  it('are not read from the target of a redirect, which could leave https', async () => {
    requests = [];
    expect(await problemsOf({ CONFIG_URL: `${base}/moved.properties` })).toEqual([movedProblem()]);
    expect(requests).toHaveLength(1);
  });

  it('are no longer fetched once the signal is aborted', async () => {
    requests = [];
    const stopping = new AbortController();
    const env = { CONFIG_URL: `${base}/never.properties`, CONFIG_TIMEOUTMS: '1000000' };
    const loading = expect(loadConfig({ env, signal: stopping.signal })).rejects.toThrow('never.properties');
    await pollUntil('the request', () => requests.length > 0);
    stopping.abort();
    await loading;
    expect(requests).toHaveLength(1);
  });

  it('leave no connection of an error response open, even if its body never ends', async () => {
    const [problem] = await problemsOf({ CONFIG_URL: `${base}/endless.properties`, CONFIG_TIMEOUTMS: '1000000' });
    expect(problem).toContain('the server responded with 503');
    expect(endless.all).toBe(3);
    await pollUntil('every connection to be closed', () => endless.open === 0);
  });

  it.each([
    ['missing.properties', true],
    ['moved.properties', false],
  ])('%s: the error has isOutage %s', async (file, isOutage) => {
    await expect(loadConfig({ env: { CONFIG_URL: `${base}/${file}` } })).rejects.toMatchObject({ isOutage });
  });

  describe('last known good copy', () => {
    const withCopies = (name: string) => ({
      CONFIG_URL: `${base}/r.properties`,
      CONFIG_LASTKNOWNGOODDIR: join(dir, name),
    });
    const warnings: string[] = [];
    const keep = async (env: NodeJS.ProcessEnv) =>
      (await loadConfig({ env })).keepCopies((problem) => warnings.push(problem));
    const serve = async <T>(body: string | null, work: () => Promise<T>): Promise<T> => {
      served = body;
      return work().finally(() => (served = undefined));
    };

    it('is used when the server is unavailable', async () => {
      const env = withCopies('used');
      await keep(env);
      const loaded = await serve(null, () => loadConfig({ env }));
      expect(loaded.config['router.port']).toBe(1002);
      expect(loaded.origins['router.port']).toContain('last known good copy');
      expect(loaded.warnings).toEqual([
        `${base}/r.properties cannot be read: the server responded with 404; its last known good copy is used`,
      ]);
      expect(warnings).toEqual([]);
    });

    it.each([
      ['redirects to another address', 'moved', movedProblem],
      [
        'returns a malformed file',
        'malformed',
        () => expect.stringMatching(/\/malformed\.properties cannot be read: /),
      ],
    ])('is not used when the server %s', async (_condition, name, problem) => {
      const env = { ...withCopies(name), CONFIG_URL: `${base}/${name}.properties` };
      await serve('router.port=1002\n', () => keep(env));
      expect(await problemsOf(env)).toEqual([problem()]);
    });

    it('is not used with `useCopies: false`', async () => {
      const env = withCopies('unused');
      await keep(env);
      const loading = serve(null, () => loadConfig({ env, useCopies: false }));
      await expect(loading).rejects.toMatchObject({
        problems: [`${base}/r.properties cannot be read: the server responded with 404`],
      });
    });

    it('is kept when a newer version of the file is rejected', async () => {
      const env = withCopies('refused');
      await keep(env);
      await serve('router.prot=1', async () => expect(await problemsOf(env)).toHaveLength(1));
      const { config } = await serve(null, () => loadConfig({ env }));
      expect(config['router.port']).toBe(1002);
    });

    it('is not written by a program that only reads the configuration', async () => {
      const env = withCopies('unwritten');
      await loadConfig({ env });
      await serve(null, async () =>
        expect(await problemsOf(env)).toEqual([expect.stringContaining('responded with 404')]),
      );
    });

    it('is replaced as a whole, by a file that only its owner may read', async () => {
      const env = withCopies('whole');
      await keep(env);
      await serve('router.port=1003\n', () => keep(env));
      const { config } = await serve(null, () => loadConfig({ env }));
      expect(config['router.port']).toBe(1003);
      const [file, ...others] = readdirSync(join(dir, 'whole'));
      expect(others).toEqual([]);
      expect(statSync(join(dir, 'whole', file as string)).mode & 0o777).toBe(0o600);
    });

    it('cannot be written → a warning that names the file, and the program continues', async () => {
      fileLayer('taken', 'not a directory');
      await keep(withCopies('taken'));
      expect(warnings.splice(0)).toEqual([expect.stringMatching(/r\.properties: the last known good copy cannot be/)]);
    });
  });
});

describe('a duration that can be switched off', () => {
  const documented = Object.entries(configSchema.properties).filter(([, type]) =>
    /\b0 ?[=:]/.test((type as { description?: string }).description ?? ''),
  );

  it.each(documented.map(([key]) => key))('%s accepts 0, as its description says', async (key) => {
    const { config } = await loadConfig({ env: { [variableOf(key)]: '0' } });
    expect(config[key as ConfigKey]).toBe(0);
  });
});

describe('a duration', () => {
  it('in milliseconds is at most 10^9, because a timer of 2^31 ms or more fires at once', async () => {
    const keys = Object.keys(configSchema.properties).filter((key) => key.endsWith('Ms'));
    const problems = await problemsOf(Object.fromEntries(keys.map((key) => [key, '1000000001'])));
    expect(problems).toHaveLength(keys.length);
    for (const key of keys) expect(problems.join('\n')).toContain(`: ${key} must be <= 1000000000,`);
  });

  it('oauth.jwksCacheSeconds is at most half of the 24 h for which keys are used', async () => {
    const { config } = await loadConfig({ env: { OAUTH_JWKSCACHESECONDS: '43200' } });
    expect(config['oauth.jwksCacheSeconds']).toBe(43_200);
    expect(await problemsOf({ OAUTH_JWKSCACHESECONDS: '43201' })).toEqual([
      expect.stringContaining('oauth.jwksCacheSeconds must be <= 43200'),
    ]);
  });
});

describe('the effective configuration', () => {
  it('names the origin of each value and masks secrets', async () => {
    const loaded = await loadConfig({
      env: { WORKERS_CLIENTSECRET: 'hush', CONFIG_URL: '', REDIS_URL: 'redis://:hush@h/' },
    });
    const lines = describeConfig(loaded);
    expect(lines.find(({ key }) => key === 'workers.clientSecret')).toMatchObject({
      value: '********',
      origin: 'environment',
    });
    expect(lines.find(({ key }) => key === 'router.port')).toMatchObject({ value: '8080', origin: 'default' });
    expect(JSON.stringify(lines)).not.toContain('hush');
  });
});
