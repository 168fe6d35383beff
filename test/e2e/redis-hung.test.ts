// Tests that executions are retried when an engine on Redis has lost the next attempt of their task (conductor-oss
// 1021).
//
// Conductor writes the field of an attempt in `SCHEDULED_TASKS` first, and then the attempt itself. The tests write the
// field in advance, which leaves the same state as an engine that is killed between the two writes.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from 'redis';
import { Engine } from '#lib/conductor/engine.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { loadConfig } from '#lib/config/load.ts';
import type { Config } from '#lib/config/schema.ts';
import { type OpenExecutions, openExecutions } from '#lib/records/open-executions.ts';
import { createLog } from '#lib/telemetry/logging/log.ts';
import { type RedisEngine, startRedisEngine } from '../../dev/engine/start-redis-engine.ts';
import { createReconcileRounds } from '../../jobs/reconcile/index.ts';
import { runCli } from '../cli/run-cli.ts';
import { requires } from '../run/requirements.ts';
import { definitionsFor } from '../lib/conductor/definitions/copy-of-product.ts';
import { call } from '../stack/client.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { pollUntil } from '../stack/poll-until.ts';

/** Grace period of the reconciler, in milliseconds. */
const afterMs = 1_000;

describe('an execution whose next attempt was lost', requires('full', 'redis'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'service-router-hung-'));
  let engine: RedisEngine;
  let connection: Engine;
  let executions: OpenExecutions;
  let api: ExecutionApi;
  let config: Config;

  beforeAll(async () => {
    engine = await startRedisEngine({ port: await findFreePort(), stateDir: folder, say: () => undefined });
    await runCli(['register', '--engine', engine.url]);
    const env = { REDIS_URL: engine.redis.url, RECONCILER_AFTERMS: String(afterMs), CONDUCTOR_URL: engine.url };
    config = (await loadConfig({ env })).config;
    connection = new Engine({ url: [engine.url], timeoutMs: 5_000, connections: 4 });
    const log = createLog('test', 'silent');
    executions = await openExecutions((request) => connection.request(request), config, { log });
    api = executions.api;
    for (const task of ['mdm_notify', 'mdm_share', 'movies_intake']) await shortenTimeout(task);
  }, 300_000);
  afterAll(async () => {
    await executions?.close();
    await connection?.close();
    await engine?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Shortens the response timeout of a task type; the tests would otherwise wait for a minute. */
  async function shortenTimeout(name: string): Promise<void> {
    const path = `${engine.url}/api/metadata/taskdefs`;
    const definition = (await call(`${path}/${name}`)).json<object>();
    const headers = { 'content-type': 'application/json' };
    const changed = {
      ...definition,
      retryCount: 3,
      retryDelaySeconds: 0,
      responseTimeoutSeconds: 1,
      timeoutPolicy: 'RETRY',
    };
    await call(path, { method: 'PUT', headers, body: JSON.stringify(changed) });
  }

  const poll = async (taskType: string) =>
    (await connection.pollTasks(taskType, { count: 10, workerId: 'test' })).map((task) => task.workflowInstanceId);

  /** Starts an execution, takes its task, and creates the state that a killed engine leaves behind. */
  async function startHung(name: string, taskType: string, input: Record<string, unknown>): Promise<WholeExecution> {
    const id = await api.start({ name, version: 1, correlationId: 'patch-1', input });
    const redis = createClient({ url: engine.redis.url });
    await redis.connect();
    const [key] = await redis.keys(`*SCHEDULED_TASKS.${id}`);
    await redis.hSet(String(key), `${taskType}1`, randomUUID());
    await redis.quit();
    await pollUntil('the task of the execution', async () => (await poll(taskType)).includes(id));
    return pollUntil('the task to time out', async () => {
      const execution = await api.readWhole(id);
      return execution?.tasks.some(({ status }) => status === 'TIMED_OUT') === true && execution;
    });
  }

  const rounds = () => {
    const definitions = definitionsFor();
    return createReconcileRounds({ config, definitions: () => definitions, api, readQueueSizes: async () => ({}) });
  };
  /** Runs reconcile rounds until one repairs the execution, and returns the finding. */
  const repaired = (id: string) => {
    const reconcile = rounds();
    return pollUntil('the execution to be repaired', async () =>
      (await reconcile.run()).findings.find(({ executionId, action }) => executionId === id && action !== 'none'),
    );
  };
  const system = { misCode: '002', sisPersonId: 'B1', cccid: 'C1', requestId: 'r', sourceExecutionId: 'patch-1' };
  const read = { inbound: { httpMethod: 'GET', route: 'movies', clientId: 'demo', requestId: 'r' } };

  it.each([
    ['mdmWF', 'mdm_notify', { mis: '001', executionId: 'patch-1', requestId: 'r' }],
    ['mdm-shareWF', 'mdm_share', system],
    ['moviesWF', 'movies_intake', read],
  ])('%s: is retried while it is still running', async (name, taskType, input) => {
    const hung = await startHung(name, taskType, input);
    expect(hung).toMatchObject({ status: 'RUNNING', tasks: [{ status: 'TIMED_OUT', retryCount: 0, retried: true }] });
    const { workflowId } = hung;
    expect(await repaired(workflowId)).toMatchObject({ case: 'never_retried', action: 'retried' });
    await pollUntil('the next attempt of the task', async () => (await poll(taskType)).includes(workflowId));
  });

  it('is retried even after the engine has marked it as completed without the lost attempt', async () => {
    const taskType = 'mdm_share';
    const { workflowId } = await startHung('mdm-shareWF', taskType, system);
    // No router started the execution, so Redis has no record of this execution until a search finds the execution.
    await api.search({ statuses: ['RUNNING'] }, { offset: 0, size: 1 });
    // Evaluates the execution, as the engine's sweeper would do after half a minute.
    await api.decide(workflowId);
    expect(await api.readState(workflowId)).toBe('COMPLETED');
    expect(await repaired(workflowId)).toMatchObject({ case: 'never_retried', action: 'retried' });
    await pollUntil('the next attempt of the task', async () => (await poll(taskType)).includes(workflowId));
  });
});
