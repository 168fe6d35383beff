// Tests of the access to an engine: the configured Redis and database are used only with the configured engine.

import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listenOnLoopback, type LoopbackServer } from '../../dev/loopback-server.ts';
import { type EngineAccessOptions, openEngine } from '../../cli/engine/engine-access.ts';
import { runCli } from './run-cli.ts';

const configured = {
  CONDUCTOR_URL: 'http://engine-1:8080,http://engine-2:8080/',
  CONDUCTOR_DATABASEURL: 'postgresql://its:secret@database/conductor',
  REDIS_URL: 'redis://its:secret@redis:6379',
};
const keys = ['redis.url', 'conductor.databaseURL'] as const;

async function open(options: EngineAccessOptions, env: Record<string, string> = configured) {
  let stderr = '';
  const host = {
    env: { STATE_DIR: '/nonexistent', ...env },
    stderr: { write: (text: string) => (stderr += text) },
  };
  const access = await openEngine(options, host as never, { keys: ['conductor.databaseURL'] });
  await access.close();
  return { stderr, stores: keys.filter((key) => access.config[key] !== undefined) };
}

describe('the configured Redis and database', () => {
  it.each<[string, EngineAccessOptions]>([
    ['no --engine', {}],
    ['--engine with the same servers', { engine: 'http://engine-2:8080/, http://engine-1:8080' }],
    ['--engine with one of the servers', { engine: 'http://ENGINE-2:8080' }],
  ])('are used: %s', async (_name, options) => {
    expect(await open(options)).toEqual({ stderr: '', stores: keys });
  });

  it.each(['http://other:8080', 'http://engine-1:8081', 'http://engine-1:8080,http://other:8080'])(
    'are not used: --engine %s, with a line on stderr',
    async (engine) => {
      expect(await open({ engine })).toEqual({
        stores: [],
        stderr: `redis.url, conductor.databaseURL not used: configured for the engine at conductor.url (http://engine-1:8080,http://engine-2:8080), but this command calls ${engine}\n`,
      });
    },
  );

  it('are used only for the default of conductor.url when the configuration does not set that key', async () => {
    const { CONDUCTOR_URL: _, ...env } = configured;
    expect(await open({ engine: 'http://127.0.0.1:8082' }, env)).toEqual({ stderr: '', stores: keys });
    expect((await open({ engine: 'http://other:8080' }, env)).stores).toEqual([]);
  });

  it('are not mentioned on stderr for another engine when neither is set', async () => {
    expect(await open({ engine: 'http://other:8080' }, {})).toEqual({ stderr: '', stores: [] });
  });
});

describe('commands for another engine', () => {
  let server: LoopbackServer;
  beforeEach(async () => {
    // An engine with an empty index.
    const engine = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://engine');
      const isMalformed = searchParams.get('query') === 'indexed';
      response.writeHead(isMalformed ? 400 : 200, { 'content-type': 'application/json' });
      response.end(request.url === '/conductor/api/token' ? '{"token":"t"}' : '{"totalHits":0,"results":[]}');
    });
    server = await listenOnLoopback(engine);
  });
  afterEach(() => server.close());
  const elsewhere = `sqlite:${join(tmpdir(), 'no-such-folder', 'conductor.db')}`;
  const env = { CONDUCTOR_DATABASEURL: elsewhere, REDIS_URL: 'redis://127.0.0.1:1' };

  it('prune --engine: does not open the database of the configured engine', async () => {
    const { exitCode, stdout, stderr } = await runCli(['prune', '--yes', '--engine', server.url], env);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringContaining('redis.url, conductor.databaseURL not used: '),
    });
    expect(stdout).toContain('event records are skipped');
  });

  it('prune --engine --database: opens that database', async () => {
    const { exitCode, stderr } = await runCli(['prune', '--yes', '--engine', server.url, '--database', elsewhere], env);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^redis\.url not used: .*\n.*no-such-folder/);
  });

  it.each([
    ['another router', 'http://127.0.0.1:9/conductor/api', false],
    ['the router of conductor.apiURL', undefined, true],
  ])('--router with %s: uses redis.url only for the configured router', async (_name, apiUrl, isUsed) => {
    const { stderr, stores } = await open(
      { router: `${server.url}/`, clientId: 'ops', clientSecret: 'x' },
      { REDIS_URL: 'redis://127.0.0.1:1', CONDUCTOR_APIURL: apiUrl ?? `${server.url}/conductor/api` },
    );
    expect(stores).toEqual(isUsed ? ['redis.url'] : []);
    expect(stderr).toBe(
      isUsed
        ? ''
        : `redis.url not used: configured for the router at conductor.apiURL (http://127.0.0.1:9), but this command calls ${server.url}\n`,
    );
  });
});
