// Tests of several versions of a workflow on one route: shares, stickiness, the choice by header, the guard, and
// missing versions.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, type Caller, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import {
  answers,
  fails,
  startVersionedRouters,
  type VersionedRouter,
  type VersionedRouters,
} from './versioned-routers.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const scope = 'choose_version';
const env = {
  ROUTER_VERSIONSCOPE: scope,
  // Keeps the circuit breaker and the admission limits from interfering on a cold engine or a busy machine.
  BREAKER_BACKEND_MINCALLS: '100000',
  ADMISSION_QUEUEMS: '20000',
  ROUTER_TIMINGSCOPE: scope,
};

let routers: VersionedRouters;
let router: VersionedRouter;
/** Another router, whose versions the tests change by reloads. */
let other: VersionedRouter;
beforeAll(async () => {
  routers = await startVersionedRouters(engineUrl, [1, 2]);
  [router, other] = await Promise.all([
    routers.start('versions: { 1: 50, 2: 50 }', env),
    routers.start('versions: { 2: 7, 1: 7 }', env),
  ]);
  await Promise.all([routers.work(router), routers.work(other)]);
});
afterAll(() => routers?.stop());

/** Returns a path whose responses the OpenAPI document does not restrict. */
const note = (name: string = randomUUID()) => `/adaptor/001/mock/colleges/001/notes/${name}`;
const versionOf = ({ headers }: RouterAnswer) => headers['x-workflow-version'];
const typeOf = (answer: RouterAnswer) => answer.json<{ type: string }>().type.replace('/problems/', '');
const choosing = (version: string, options: CallOptions = {}): CallOptions => ({
  ...options,
  headers: { ...options.headers, 'x-workflow-version': version },
});
const clients = (count: number) => Array.from({ length: count }, (_, n) => `client-${n}`);
const executionIn = async (id: unknown) =>
  (await call(`${engineUrl}/api/workflow/${String(id)}?includeTasks=false`)).json<{ workflowVersion: number }>();

/** Sends one request as each client, and returns the version that each client gets. */
async function versionsAt({ url }: VersionedRouter, ids: readonly string[]): Promise<Record<string, string>> {
  const asked = await Promise.all(
    ids.map(async (id) => {
      const answer = await routers.client(url, id)(note());
      expect(answer.status, answer.text).toBe(200);
      // The reported version is the one that served the request.
      expect(answer.text).toBe(`version ${String(versionOf(answer))}`);
      return [id, String(versionOf(answer))] as const;
    }),
  );
  return Object.fromEntries(asked);
}

/** Returns the first of the clients `client-0`, `client-1` … that gets this version. */
async function clientOf(version: string, scopes?: string): Promise<Caller> {
  const found = Object.entries(await versionsAt(router, clients(12))).find(([, got]) => got === version);
  expect(found, `no client gets version ${version}`).toBeDefined();
  return routers.client(router.url, found?.[0] ?? '', scopes);
}

async function metric(at: VersionedRouter, name: string, labels: Record<string, string>): Promise<number> {
  const lines = (await call(`${at.operationsUrl}/metrics`)).text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`));
  const fitting = lines.filter((line) =>
    Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)),
  );
  return fitting.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

interface LogLine {
  level: string;
  msg: string;
  requestId?: string;
  workflowVersion?: number;
}
const logOf = ({ program }: VersionedRouter) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);

describe('shares', () => {
  // With this many clients, a version gets a fifth of them or less in only one run in 300,000.
  const many = clients(60);

  it('both versions are used, and each client gets the same one every time, on every router', async () => {
    const first = await versionsAt(router, many);
    const counts = ['1', '2'].map((version) => Object.values(first).filter((got) => got === version).length);
    expect(Math.min(...counts), JSON.stringify(counts)).toBeGreaterThan(many.length / 5);
    expect(await versionsAt(router, many)).toEqual(first);
    expect(await versionsAt(other, many)).toEqual(first);
  });

  it('when changed, move clients only to the version whose share grew', async () => {
    const before = await versionsAt(router, many);
    await routers.reload(other, 'versions: { 1: 50, 2: 150 }');
    const after = await versionsAt(other, many);
    const moved = many.filter((id) => before[id] !== after[id]);
    expect(moved.length).toBeGreaterThan(0);
    expect(new Set(moved.map((id) => after[id]))).toEqual(new Set(['2']));
  });

  it('the engine, the log and the metrics show the same version as the response', async () => {
    const seen = (version: string) =>
      metric(router, 'router_version_seconds_count', { route: 'adaptor', version, outcome: 'ok' });
    const before = [await seen('1'), await seen('2')];
    const [one, two] = [await (await clientOf('1'))(note()), await (await clientOf('2'))(note())];
    for (const [answer, version] of [[one, 1] as const, [two, 2] as const]) {
      expect((await executionIn(answer.headers['x-execution-id'])).workflowVersion).toBe(version);
      const line = await pollUntil('the log line', async () =>
        logOf(router).find(({ requestId }) => requestId === answer.headers['x-request-id']),
      );
      expect(line).toMatchObject({ msg: 'response sent', workflowVersion: version });
    }
    // Each call to `clientOf` sends one request as each of twelve clients; the other two requests are those of this
    // test.
    const after = [await seen('1'), await seen('2')];
    expect(after.map((count, n) => count - (before[n] ?? 0)).reduce((sum, count) => sum + count)).toBe(26);
    expect(await metric(router, 'router_executions_total', { version: '2', outcome: 'answered' })).toBeGreaterThan(0);
  });

  it('workers that wait for tasks of either version get them at once', async () => {
    const took: number[] = [];
    for (const caller of [await clientOf('1'), await clientOf('2')]) {
      for (let n = 0; n < 5; n++) {
        const startedAt = performance.now();
        expect((await caller(note(), { method: 'PUT', body: 'x' })).status).toBe(200);
        took.push(performance.now() - startedAt);
      }
    }
    // Without a wake-up, a held poll would ask the engine only once a second.
    expect(Math.min(...took.slice(0, 5))).toBeLessThan(500);
    expect(Math.min(...took.slice(5))).toBeLessThan(500);
  });
});

describe('X-Workflow-Version of a request', () => {
  it('with the scope, selects the version, whichever the client would otherwise get', async () => {
    for (const id of clients(6)) {
      for (const version of ['1', '2']) {
        const answer = await routers.client(router.url, id, scope)(note(), choosing(version));
        expect([answer.status, answer.text, versionOf(answer)]).toEqual([200, `version ${version}`, version]);
      }
    }
  });

  it('does not reach the back end', async () => {
    let received: unknown;
    routers.behaviours.set(2, (task) => {
      received = (task.inputData!['inbound'] as { headers: object }).headers;
      return answers(2)(task);
    });
    await routers.client(router.url, 'client-0', scope)(note(), choosing('2', { headers: { accept: 'text/plain' } }));
    routers.behaviours.set(2, answers(2));
    expect(received).toEqual({ accept: 'text/plain' });
  });

  it.each(['1', '3', 'two', ''])('%j without the scope → 403, and nothing is started', async (version) => {
    const answer = await routers.client(router.url, 'client-0', 'another_scope')(note(), choosing(version));
    expect([answer.status, typeOf(answer)]).toEqual([403, 'workflow-version-forbidden']);
    expect(answer.json()).toMatchObject({ detail: `Required: ${scope}` });
    expect(answer.headers['www-authenticate']).toContain(`scope="${scope}"`);
    expect([answer.headers['x-execution-id'], versionOf(answer)]).toEqual([undefined, undefined]);
    expect(answer.headers).toHaveProperty('ratelimit');
  });

  it.each(['3', '0', '-1', '1.0', 'two', '', '1, 2', '9'.repeat(5_000)])(
    '%j with the scope, but not a version of the path → 400 that names the versions',
    async (version) => {
      const answer = await routers.client(router.url, 'client-0', scope)(note(), choosing(version));
      expect([answer.status, typeOf(answer)]).toEqual([400, 'unknown-workflow-version']);
      expect(answer.json()).toMatchObject({ detail: 'This path has the versions 1, 2.' });
      expect(answer.headers['x-execution-id']).toBeUndefined();
    },
  );

  it('two fields are refused, and each problem type has a page', async () => {
    const twice = { headers: { 'x-workflow-version': ['1', '2'] } };
    const answer = await routers.client(router.url, 'client-0', scope)(note(), twice);
    expect(typeOf(answer)).toBe('unknown-workflow-version');
    for (const type of ['unknown-workflow-version', 'workflow-version-forbidden']) {
      const page = await call(`${router.url}/problems/${type}`, { headers: { accept: 'text/plain' } });
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('X-Workflow-Version')]);
    }
  });

  it('is refused with 403 for every client when no scope is configured', async () => {
    const closed = await routers.start('versions: { 1: 1, 2: 1 }');
    const answer = await routers.client(closed.url, 'client-0', scope)(note(), choosing('1'));
    expect([answer.status, typeOf(answer)]).toEqual([403, 'workflow-version-forbidden']);
    expect(answer.headers['www-authenticate']).toBeUndefined();
  });

  it('is ignored by a route with `version`, whose responses do not have this header', async () => {
    const plain = other;
    await routers.reload(plain, 'version: 2');
    for (const version of ['1', 'nonsense']) {
      const answer = await routers.client(plain.url, 'client-0')(note(), choosing(version));
      expect([answer.status, answer.text, versionOf(answer)]).toEqual([200, 'version 2', undefined]);
    }
    const later = await routers.client(plain.url, 'client-0')(note(), { headers: { prefer: 'respond-async' } });
    expect([later.status, versionOf(later)]).toEqual([202, undefined]);
    const look = await routers.client(plain.url, 'client-0')(String(later.headers['location']));
    expect([look.status, versionOf(look)]).toEqual([200, undefined]);
  });
});

describe('the version on responses other than synchronous successes', () => {
  it.each(['1', '2'])('version %s: on the 202, status, result and DELETE responses', async (version) => {
    const caller = await clientOf(version);
    const accepted = await caller(note(), { method: 'PUT', headers: { prefer: 'respond-async' } });
    expect([accepted.status, versionOf(accepted)]).toEqual([202, version]);
    const self = String(accepted.headers['location']);
    const look = await caller(self, { headers: { prefer: 'wait=20' } });
    expect([look.json()['state'], versionOf(look)]).toEqual(['completed', version]);
    const response = await caller(`${self}/response`);
    expect([response.text, versionOf(response)]).toEqual([`version ${version}`, version]);
    const cancelled = await caller(self, { method: 'DELETE' });
    expect([cancelled.status, versionOf(cancelled)]).toEqual([409, version]);
  });

  it('on a problem document, both in the first response and when it is read later', async () => {
    routers.behaviours.set(2, fails);
    const caller = routers.client(router.url, 'client-0', scope);
    const answer = await caller(note(), choosing('2'));
    routers.behaviours.set(2, answers(2));
    expect([answer.status, typeOf(answer), versionOf(answer)]).toEqual([502, 'execution-failed', '2']);
    expect(answer.headers).toHaveProperty('server-timing');
    const later = await caller(`/executions/${String(answer.headers['x-execution-id'])}/response`);
    expect([later.status, typeOf(later), versionOf(later)]).toEqual([502, 'execution-failed', '2']);
  });

  it('on a replay: the version of the first request, even if the client would get another one now', async () => {
    const key = { 'idempotency-key': randomUUID(), 'content-type': 'text/plain' };
    const write = { method: 'PUT', headers: key, body: 'x' };
    const path = note();
    await routers.reload(other, 'versions: { 1: 1, 2: 0 }');
    const first = await routers.client(router.url, 'client-0', scope)(path, choosing('2', write));
    expect([first.status, versionOf(first)]).toEqual([200, '2']);
    const again = await routers.client(other.url, 'client-0')(path, write);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect([again.text, versionOf(again)]).toEqual(['version 2', '2']);
    const reused = await routers.client(other.url, 'client-0')(path, { ...write, body: 'y' });
    expect([reused.status, versionOf(reused)]).toEqual([422, '2']);
  });
});

describe('the guard', () => {
  afterEach(() => {
    for (const version of [1, 2]) routers.behaviours.set(version, answers(version));
  });
  const pins = (version: string) =>
    `versions: ${version}\n              versionGuard: { failurePercent: 20, windowMs: 60000, minRequests: 5 }`;
  // The guard needs `minRequests` requests of each version. The tests send requests as all clients, because the number
  // of clients that get a version depends on the random name of the workflow.
  const outOf = (at: VersionedRouter, version: string) =>
    metric(at, 'router_version_removed', { route: 'adaptor', version });

  /** Gives both versions this share; a new share resets the guard. */
  async function guardWith(share: number): Promise<VersionedRouter> {
    await routers.reload(other, pins(`{ 1: ${share}, 2: ${share} }`));
    return other;
  }

  it('takes out a failing version, with a log line, a metric and a notice; its clients get the other one', async () => {
    const guarded = await guardWith(50);
    const before = await versionsAt(guarded, clients(20));
    expect([await outOf(guarded, '1'), await outOf(guarded, '2')]).toEqual([0, 0]);
    const ofTwo = clients(20).filter((id) => before[id] === '2');
    // A response with 404 does not count as a failure.
    routers.behaviours.set(2, answers(2, 404));
    for (const id of ofTwo) expect((await routers.client(guarded.url, id)(note())).status).toBe(404);
    expect(await outOf(guarded, '2')).toBe(0);
    routers.behaviours.set(2, fails);
    // Requests that choose the version by header do not count for the guard.
    for (let n = 0; n < 20; n++) {
      expect((await routers.client(guarded.url, 'client-0', scope)(note(), choosing('2'))).status).toBe(502);
    }
    expect(await outOf(guarded, '2')).toBe(0);
    const statuses: number[] = [];
    await pollUntil('version 2 to be taken out', async () => {
      for (const id of clients(20)) statuses.push((await routers.client(guarded.url, id)(note())).status);
      return (await outOf(guarded, '2')) === 1;
    });
    expect(statuses).toContain(502);
    routers.behaviours.set(2, answers(2));
    expect(Object.values(await versionsAt(guarded, clients(20)))).toEqual(Array(20).fill('1'));
    expect(await outOf(guarded, '1')).toBe(0);
    const line = logOf(guarded).filter(({ msg }) => msg.includes('the router does not choose it'));
    expect(line).toHaveLength(1);
    expect(line[0]).toMatchObject({ level: 'error', route: 'adaptor', workflow: routers.workflow, workflowVersion: 2 });
    const ready = (await call(`${guarded.operationsUrl}/health/ready`)).json<{ notices: Record<string, string[]> }>();
    expect(ready.notices['versions']).toEqual(['adaptor: version 2 failed too often; the router no longer chooses it']);
    expect(await metric(guarded, 'router_version_seconds_count', { version: '2', outcome: 'failed' })).toBeGreaterThan(
      20,
    );
    // A client with the scope can still choose this version.
    expect((await routers.client(guarded.url, 'client-0', scope)(note(), choosing('2'))).text).toBe('version 2');
  });

  it.each([
    ['failures', 2, fails],
    ['unusable responses', 5, () => ({ status: 'COMPLETED', outputData: { outbound: 'none' } })],
  ])('%s after a 202 response count as well', async (_what, group, behaviour) => {
    const guarded = await guardWith(group);
    routers.behaviours.set(2, behaviour);
    await pollUntil('version 2 to be taken out', async () => {
      const later = { method: 'PUT', headers: { prefer: 'respond-async' } };
      for (const id of clients(20)) expect((await routers.client(guarded.url, id)(note(), later)).status).toBe(202);
      return (await outOf(guarded, '2')) === 1;
    });
  });

  it('a version that was taken out stays out after a reload with the same shares, but not with new ones', async () => {
    const guarded = await guardWith(3);
    const before = await versionsAt(guarded, clients(20));
    routers.behaviours.set(2, fails);
    await pollUntil('version 2 to be taken out', async () => {
      for (const id of clients(20)) await routers.client(guarded.url, id)(note());
      return (await outOf(guarded, '2')) === 1;
    });
    routers.behaviours.set(2, answers(2));
    await routers.reload(guarded, `${pins('{ 2: 3, 1: 3 }')}\n              idempotencyKey: optional`);
    expect(await outOf(guarded, '2')).toBe(1);
    expect(Object.values(await versionsAt(guarded, clients(20)))).toEqual(Array(20).fill('1'));
    await routers.reload(guarded, pins('{ 1: 1, 2: 1 }'));
    expect(await outOf(guarded, '2')).toBe(0);
    expect(await versionsAt(guarded, clients(20))).toEqual(before);
  });

  it('takes out neither version when both fail', async () => {
    const guarded = await guardWith(4);
    for (const version of [1, 2]) routers.behaviours.set(version, fails);
    const statuses = await Promise.all(
      clients(60).map(async (id) => (await routers.client(guarded.url, id)(note())).status),
    );
    expect(new Set(statuses)).toEqual(new Set([502]));
    expect([await outOf(guarded, '1'), await outOf(guarded, '2')]).toEqual([0, 0]);
  });
});

describe('a version that the engine does not have', () => {
  it('the router is not ready and logs why; requests for this version get 503, and others are served', async () => {
    const lacking = await routers.start('versions: { 1: 50, 9: 50 }', env);
    const health = await call(`${lacking.operationsUrl}/health/ready`);
    const reason = `workflow ${routers.workflow} version 9 is not registered`;
    expect(health.status).toBe(503);
    expect(health.json<{ reasons: Record<string, string[]> }>().reasons['engine']).toEqual([reason]);
    const caller = routers.client(lacking.url, 'client-0', scope);
    const answer = await caller(note(), choosing('9'));
    expect([answer.status, typeOf(answer), versionOf(answer)]).toEqual([503, 'definition-missing', '9']);
    expect((await caller(note(), choosing('1'))).text).toBe('version 1');
    const line = await pollUntil('the log line', async () =>
      logOf(lacking).find(({ level, msg }) => level === 'error' && msg.startsWith(reason)),
    );
    expect(line.msg).toBe(`${reason}: requests for this version get a 503 response`);
  });
});
