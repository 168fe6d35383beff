// Tests of reloads on a real engine under load: no request and no worker call fails, and a new version takes effect.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { readCounts } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { reload as reloadProgram } from '../stack/reload.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { newCccid } from '../stack/new-cccid.ts';
import { byDepth } from '../run/depth.ts';

const engineUrl = engineOfRun().url;
const engine = engineApi(engineUrl);
const dir = mkdtempSync(join(tmpdir(), 'service-router-reload-'));
const gatewayConfigFile = join(dir, 'map.yml');
const productMap = readFileSync(fileURLToPath(new URL('../../gateway.config.yml', import.meta.url)), 'utf8');

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  writeFileSync(gatewayConfigFile, productMap);
  // Requests and polls may wait a long time on a busy machine: these tests check only that a reload does not make them
  // fail.
  const router = {
    ROUTER_GATEWAYCONFIGFILE: gatewayConfigFile,
    ADMISSION_QUEUEMS: '20000',
    CONDUCTOR_MAXHELDPOLLMS: '150000',
  };
  stack = await shareStack({ engineUrl, router });
  demo = await callerFor(stack.url);
  await pollUntil('a first response', async () => (await demo('/movies/Casablanca')).status === 200);
});
afterAll(async () => {
  await stack?.stop();
  rmSync(dir, { recursive: true });
});

async function reload(map: string): Promise<'applied' | 'refused'> {
  writeFileSync(gatewayConfigFile, map);
  return reloadProgram(stack.router);
}

/**
 * Sends requests at a fixed rate until `stop` is called, which returns one result for each request: `200`, the
 * status and body of any other response, or an error.
 */
function startLoad(perSecond: number): { sent(): number; stop(): Promise<string[]> } {
  const stopping = new AbortController();
  const answers: Promise<string>[] = [];
  const cccid = newCccid();
  const send = async (): Promise<string> => {
    const write = answers.length % 5 === 0;
    const person = '/adaptor/001/mock/colleges/001/persons/0320991';
    const change = {
      method: 'PATCH',
      json: { cccid },
    };
    return (write ? demo(person, change) : demo('/movies/Metropolis')).then(
      ({ status, text }) => (status === 200 ? '200' : `${status} ${text}`),
      (error: unknown) => String(error),
    );
  };
  const sending = (async () => {
    while (!stopping.signal.aborted) {
      answers.push(send());
      await pause(1_000 / perSecond, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    sent: () => answers.length,
    async stop() {
      stopping.abort();
      await sending;
      return Promise.all(answers);
    },
  };
}

it('reloads under load: no request fails, no worker logs an error, and no held poll is lost', async () => {
  const written = stack.workers.map((worker) => worker.output().length);
  const worker = await callerFor(stack.url, 'worker');
  // A poll of a separate queue; the poll is held during all reloads.
  const queue = `reload-${randomBytes(4).toString('hex')}`;
  const held = worker(`/conductor/api/tasks/poll/batch/movies_intake?count=1&timeout=150000&domain=${queue}`);
  const load = startLoad(20);
  for (let round = 1; round <= byDepth(4, 10); round++) {
    // A reload takes less time than a request. This wait makes every reload happen while requests are in flight.
    await pollUntil(`requests before reload ${round}`, () => load.sent() >= 5 * round);
    expect(await reload(productMap.replace('The movies prototype', `Films ${round}`))).toBe('applied');
  }
  const statuses = await load.stop();
  expect(statuses.length).toBeGreaterThanOrEqual(byDepth(10, 50));
  expect(statuses.filter((status) => status !== '200')).toEqual([]);
  const lines = stack.workers.map((each, index) => each.output().slice(written[index])).join('');
  expect(lines.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line))).toEqual([]);
  // The poll started under the first configuration. It still gets the task of an execution that is started directly on
  // the engine.
  const start = { name: 'moviesWF', version: 1, input: {}, taskToDomain: { '*': queue } };
  const started = await engine.send('POST', '/workflow', start);
  const answer = await held;
  expect(answer.status).toBe(200);
  expect(answer.json<Task[]>().map(({ workflowInstanceId }) => workflowInstanceId)).toEqual([started.text]);
  await engine.send('DELETE', `/workflow/${started.text}`);
});

it('a reload to a version that the engine does not have is refused until the version is registered', async () => {
  const version = 100_000 + Number.parseInt(randomBytes(2).toString('hex'), 16);
  const pinned = productMap.replace('name: moviesWF, version: 1', `name: moviesWF, version: ${version}`);
  expect(await reload(pinned)).toBe('refused');
  const why = `workflow moviesWF version ${version} is not registered`;
  await pollUntil('the reason in the log', () => stack.router.output().includes(why));
  expect((await demo('/movies/Casablanca')).status).toBe(200);

  const first = await engine.get<object>('/metadata/workflow/moviesWF?version=1');
  await engine.send('PUT', '/metadata/workflow', [{ ...first, version }]);
  try {
    expect(await reload(pinned)).toBe('applied');
    const answer = await demo('/movies/Casablanca');
    expect(answer.status).toBe(200);
    const execution = await engine.execution(String(answer.headers['x-execution-id']));
    expect(execution.workflowVersion).toBe(version);
    expect(await reload(productMap)).toBe('applied');
  } finally {
    await engine.send('DELETE', `/metadata/workflow/moviesWF/${version}`);
  }
});

it('a refused configuration leaves no names and no metrics behind', async () => {
  const name = `refused-${randomBytes(4).toString('hex')}`;
  const wait = { name: 'wait', taskReferenceName: 'wait', type: 'WAIT', inputParameters: { duration: '10 minutes' } };
  const definition = { name, version: 1, schemaVersion: 2, tasks: [wait], ownerEmail: 'a@b.c' };
  await engine.send('POST', '/metadata/workflow', definition);
  const inbound = { clientId: 'demo', httpMethod: 'GET', requestId: 'r', route: 'movies' };
  const { text: id } = await engine.send('POST', '/workflow', { name, version: 1, input: { inbound } });
  // No route starts this workflow, so its executions are not found.
  expect((await demo(`/executions/${id}`)).status).toBe(404);
  const metricsOf = async () => {
    const series = Object.keys(await readCounts(stack.operationsUrl));
    // The metrics of Node.js itself depend on its current activity.
    const names = series.map((each) => each.split('{', 1)[0]).filter((name) => !name?.startsWith('nodejs_'));
    return [...new Set(names)].toSorted();
  };
  const before = await metricsOf();
  // Version 2 is not registered, which the router detects only after it has created all resources of the configuration.
  const versions = 'versions: { 1: 50, 2: 50 }, versionGuard: { failurePercent: 9 }';
  const refused = productMap.replace('name: moviesWF, version: 1', `name: ${name}, ${versions}`);
  expect(await reload(refused)).toBe('refused');
  expect((await demo(`/executions/${id}`)).status).toBe(404);
  expect(await metricsOf()).toEqual(before);
  expect((await call(`${stack.operationsUrl}/metrics`)).text).not.toContain(name);
  await engine.send('DELETE', `/workflow/${id}`);
});
