// Tests of `prune` on an engine without an index, with the records of executions in a real Redis.

import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { IndexPresence } from '#lib/conductor/executions/index-presence.ts';
import { ExecutionRecords } from '#lib/records/execution-records.ts';
import { RedisRecorder } from '#lib/records/recorder.ts';
import { Redis } from '#lib/redis/redis.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { engineWithoutIndex } from '../lib/records/engine-without-index.ts';
import { requires } from '../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';
import { runCli } from './run-cli.ts';

const dayMs = 86_400_000;

describe('prune on an engine without an index', requires('redis'), () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url, createLog('test', 'silent'));
    redis.start();
    await redis.firstAttempt;
  });
  afterAll(async () => {
    await redis?.stop();
    await server?.stop();
  });

  /** Starts an execution and records it, as the router does. */
  async function start(engine: ReturnType<typeof engineWithoutIndex>, recorder: RedisRecorder): Promise<string> {
    const request = { name: 'moviesWF', version: 1, input: { inbound: { httpMethod: 'GET', route: 'movies' } } };
    const record = await recorder.starting(request, { isLookedUp: true });
    const executionId = engine.start(request);
    record.started(executionId);
    return executionId;
  }

  it('prints what it deleted, and the error, when it cannot read the state of a running execution', async () => {
    const engine = engineWithoutIndex();
    const presence = new IndexPresence(engine.call);
    await presence.exists();
    const records = new ExecutionRecords(redis, { keyPrefix: 'service-router:records:', correlationTtlMs: dayMs });
    const recorder = new RedisRecorder(records, presence);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 30 * dayMs });
    onTestFinished(() => void vi.useRealTimers());
    const old = await start(engine, recorder);
    engine.end(old, 'COMPLETED');
    recorder.ended(old, 'COMPLETED');
    const running = await start(engine, recorder);
    // Redis runs commands in order, so the records are complete when it responds.
    await redis.run((client) => client.ping());
    vi.useRealTimers();
    const http = await listenOnLoopback(
      createServer(async (request, response) => {
        const { method = '', url: path = '' } = request;
        const call = { method, path, body: await text(request) } as Parameters<typeof engine.call>[0];
        const { status, body } = path.includes(running) ? { status: 500, body: '{}' } : await engine.call(call);
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      }),
    );
    onTestFinished(() => http.close());
    const env = { CONDUCTOR_URL: http.url, REDIS_URL: server.url };
    const args = ['prune', '--yes', '--no-events', '--older-than', '7d', '--state', 'completed'];

    const { exitCode, stderr } = await runCli(args, env);
    expect(exitCode).toBe(1);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `${http.url}: 1 execution deleted`,
      'event records are skipped (--no-events)',
      expect.stringContaining('500'),
    ]);
    const { json } = await runCli([...args, '--json'], env);
    expect(json()).toMatchObject({ ok: false, problems: [expect.stringContaining('500')], executions: 0 });
  });

  it('works while Redis is full, whereas a command that lists executions fails', async () => {
    const engine = engineWithoutIndex();
    const http = await listenOnLoopback(
      createServer(async (request, response) => {
        const { method = '', url: path = '' } = request;
        const call = { method, path, body: await text(request) } as Parameters<typeof engine.call>[0];
        const { status, body } = await engine.call(call);
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      }),
    );
    onTestFinished(() => http.close());
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    onTestFinished(async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '0')));
    const env = { CONDUCTOR_URL: http.url, REDIS_URL: server.url };
    expect(await runCli(['prune', '--yes', '--no-events'], env)).toMatchObject({ exitCode: 0 });
    expect(await runCli(['executions', 'list'], env)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Redis, which has the records of executions, does not respond'),
    });
  });
});
