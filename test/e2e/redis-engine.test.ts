// Tests of a complete stack with an engine on Redis, which has no index: client requests, idempotency keys, MDM and the
// CLI.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type RedisEngine, startRedisEngine } from '../../dev/engine/start-redis-engine.ts';
import { runCli } from '../cli/run-cli.ts';
import { type EngineProxy, startEngineProxy } from '../faults/engine-proxy.ts';
import { requires } from '../run/requirements.ts';
import { call, type Caller, callerFor, type CallOptions } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { lostEventsOf } from './lost-events.ts';

describe('a stack on an engine on Redis', requires('full', 'redis'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-redis-engine-'));
  let engine: RedisEngine;
  let proxy: EngineProxy;
  let stack: Stack;
  let demo: Caller;

  beforeAll(async () => {
    engine = await startRedisEngine({ port: await findFreePort(), stateDir: folder, say: () => undefined });
    await runCli(['register', '--engine', engine.url]);
    proxy = await startEngineProxy(engine.url);
    const router = { REDIS_URL: engine.redis.url, RECONCILER_INTERVALMS: '500', RECONCILER_AFTERMS: '3000' };
    stack = await startStack({ engineUrl: proxy.url, router });
    demo = await callerFor(stack.url);
    // The engine may take a minute to subscribe to the queue of a new handler. The set-up waits for that, so that no
    // test has to.
    const first = await patch('0320991', newCccid());
    expect(first.status).toBe(200);
    await untilShared(executionOf(first), 90_000);
  }, 300_000);
  afterAll(async () => {
    await stack?.stop();
    await proxy?.stop();
    await engine?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const executionOf = ({ headers }: Awaited<ReturnType<Caller>>) => String(headers['x-execution-id']);
  const patch = (id: string, cccid: string, headers: Record<string, string> = {}) =>
    demo(`/adaptor/001/mock/colleges/001/persons/${id}`, {
      method: 'PATCH',
      headers: { ...headers },
      json: { cccid },
    });
  const entriesOf = async (source: string) =>
    (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${source}`)).json<{ kind: string }[]>();
  /** Waits until MDM has logged the notification and the share with the other college. */
  const untilShared = (source: string, timeoutMs = 30_000) =>
    pollUntil(`MDM to hear of ${source} and its share`, async () => (await entriesOf(source)).length >= 2, {
      timeoutMs,
    });
  const read = async (id: string) =>
    (await call(`${engine.url}/api/workflow/${id}`)).json<{ status: string; tasks: { status: string }[] }>();
  const cli = (...args: string[]) => runCli(args, { CONDUCTOR_URL: engine.url, REDIS_URL: engine.redis.url });
  const notices = async (operationsUrl: string) =>
    (await call(`${operationsUrl}/health/ready`)).json<{ notices: Record<string, string[]> }>().notices;

  it.each(['/lmsDW/001/dataSync/', '/adaptor/001/terms?mis=001', '/movies/Metropolis'])('serves %s', async (path) => {
    expect((await demo(path)).status).toBe(200);
  });

  it('serves sections', async () => {
    const path = '/adaptor/001/sections?sisTermId=2026FA&sisCourseId=MATH-31&mis=001';
    expect((await demo(path)).json<unknown[]>().length).toBeGreaterThan(0);
  });

  it('has no notice about executions in its readiness response, because records replace the index', async () => {
    expect(await notices(stack.operationsUrl)).not.toHaveProperty('executions');
  });

  it('replays a response after a restart of the router', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const cccid = newCccid();
    const first = await patch('0318204', cccid, key);
    expect(first.status).toBe(200);
    await stack.router.stop();
    await stack.restartRouter();
    const second = await pollUntil('the replayed response', async () => {
      const response = await patch('0318204', cccid, key);
      return response.status === 200 && response;
    });
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(executionOf(second)).toBe(executionOf(first));
    expect(second.text).toBe(first.text);
  });

  it('finds the execution of a key when the response to its start was lost, and starts no other', async () => {
    const options: CallOptions = {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: '{"name":"x"}',
    };
    const path = `/adaptor/001/mock/echo/${randomUUID()}`;
    proxy.concerns = ({ method, url }) => method === 'POST' && url === '/api/workflow';
    proxy.mood = 'reset';
    expect((await demo(path, options)).status).toBe(504);
    proxy.mood = 'pass';
    const repeated = await pollUntil('the response of the execution', async () => {
      const response = await demo(path, options);
      return response.status === 200 && response;
    });
    expect(repeated.headers['idempotency-replayed']).toBe('true');
  });

  it('delivers a cccid to MDM and the interested college', async () => {
    const cccid = newCccid();
    const source = executionOf(await patch('0318204', cccid));
    await untilShared(source);
    const person = `${stack.backEndsUrl}/adaptors/002/mock/colleges/002/persons/B00417733`;
    // The share of an earlier PATCH of this person may arrive after the share of this PATCH. The worker then sends
    // the newer cccid once more.
    await pollUntil('the other college to have the cccid', async () => (await call(person)).json()['cccid'] === cccid);
  });

  it('starts the follow-up executions of a PATCH whose event was lost', async () => {
    const { withoutHandler } = lostEventsOf({ url: engine.url, stateDir: '' });
    await withoutHandler('mdm', async () => {
      await untilShared(executionOf(await patch('0318204', newCccid())));
    });
    const { text } = await call(`${stack.operationsUrl}/metrics`);
    expect(text).toMatch(/router_reconciled_total\{case="event_lost",action="started"\} [1-9]/);
  });

  it('the CLI lists and shows executions, and plans to prune and reconcile them', async () => {
    const source = executionOf(await patch('0318204', newCccid()));
    await untilShared(source);
    const list = (await cli('executions', 'list', '--route', 'adaptor', '--json')).json<{
      executions: { executionId: string; state: string; clientId: string }[];
    }>();
    expect(list.executions).toContainEqual(
      expect.objectContaining({ executionId: source, state: 'COMPLETED', clientId: 'demo' }),
    );
    const shown = (await cli('executions', 'show', source, '--json')).json<{ follows: { workflow: string }[] }>();
    expect(shown.follows.map(({ workflow }) => workflow)).toEqual(expect.arrayContaining(['mdmWF', 'mdm-shareWF']));
    // `--dry-run` deletes nothing. The configured rules apply, because `prune` refuses rules that would delete
    // executions that the reconciler needs.
    const planned = await cli('prune', '--dry-run', '--no-events', '--json');
    expect(planned.json()).toMatchObject({ ok: true, rules: expect.any(Array) });
    expect((await cli('reconcile', '--dry-run', '--json')).json()).toMatchObject({ ok: true, findings: [] });
  });

  it('without redis.url, says what does not work, and searches fail with an error', async () => {
    for (const command of ['executions list', 'reconcile --dry-run', 'prune --dry-run --no-events']) {
      const { exitCode, stderr, stdout } = await runCli([...command.split(' '), '--engine', engine.url]);
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 });
      expect(stdout + stderr).toContain('the engine has no index of executions');
    }
    const alone = await startStack({ engineUrl: engine.url, withWorkers: false, anyAnswer: true });
    try {
      const client = await callerFor(alone.url);
      await pollUntil('the notice', async () => 'executions' in (await notices(alone.operationsUrl)));
      expect((await notices(alone.operationsUrl))['executions']).toEqual([
        expect.stringContaining('the engine has no index of executions and redis.url is not set'),
      ]);
      const refused = await client('/adaptor/001/mock/echo/x', {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
        body: '{}',
      });
      expect(refused.status).toBe(503);
      expect(refused.json()).toMatchObject({ type: '/problems/idempotency-unavailable' });
    } finally {
      await alone.stop();
    }
  });

  it('keeps acknowledged writes when Redis is killed', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const cccid = newCccid();
    const first = await patch('0318204', cccid, key);
    // With `appendfsync everysec`, writes that are older than two seconds are on disk.
    const { headers } = await pollUntil('two seconds to pass', async () => {
      const response = await demo('/movies/Metropolis');
      return (
        Date.parse(String(response.headers['date'])) - Date.parse(String(first.headers['date'])) > 2_000 && response
      );
    });
    expect(headers).toBeDefined();
    process.kill(engine.redis.pid as number, 'SIGKILL');
    await engine.redis.restart();
    const second = await pollUntil('the repeated response', async () => {
      const response = await patch('0318204', cccid, key);
      return response.status === 200 && response;
    });
    expect(executionOf(second)).toBe(executionOf(first));
    expect((await read(executionOf(first))).status).toBe('COMPLETED');
  });

  it('the CLI deletes executions while Redis is full', async () => {
    const source = executionOf(await demo('/movies/Metropolis'));
    const redis = createClient({ url: engine.redis.url });
    await redis.connect();
    onTestFinished(async () => {
      await redis.configSet('maxmemory', '0');
      redis.destroy();
    });
    await redis.configSet('maxmemory', '1');
    const env = { CONDUCTOR_URL: engine.url, REDIS_URL: engine.redis.url };
    const young = { RECONCILER_LOOKBACKSECONDS: '0', RECONCILER_AFTERMS: '1' };
    const pruned = await runCli(['prune', '--older-than', '0.01s', '--yes', '--json'], { ...env, ...young });
    expect(pruned).toMatchObject({ exitCode: 0 });
    expect(pruned.json<{ executions: number }>().executions).toBeGreaterThan(0);
    expect((await call(`${engine.url}/api/workflow/${source}`)).status).toBe(404);
  });
});
