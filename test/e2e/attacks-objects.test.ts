// Tests of object-level authorization (OWASP API1): clients that the configuration limits to MIS codes, and workers
// that it limits to pools.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import { createToken, type SigningKey } from '../plugins/oauth2/forge.ts';
import { call, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { audience } from '../stack/stack.ts';
import { type AttackedStack, startAttackedStack } from './attacked-stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
const engine = engineApi(engineUrl);
const suffix = randomUUID().slice(0, 6);
const taskType = `attack_task_${suffix}`;
const workflow = `attackWF_${suffix}`;

let attacked: AttackedStack;
let key: SigningKey;

beforeAll(async () => {
  attacked = await startAttackedStack(engineUrl, {
    'client.one.misCodes': '001',
    'client.both.misCodes': '001, 002',
    'client.nobody.misCodes': ' ',
    'client.worker-002.domains': '002',
    'client.worker-default.domains': 'NO_DOMAIN',
    'client.worker-typed.taskTypes': taskType,
    'client.worker-typed.domains': '001,NO_DOMAIN',
    'client.one-worker.misCodes': '001',
  });
  key = await issuerKey(attacked.stack);
  const ownerEmail = 'a@example.org';
  const taskDef = { name: taskType, ownerEmail, retryCount: 0, timeoutSeconds: 60, responseTimeoutSeconds: 30 };
  await engine.send('POST', '/metadata/taskdefs', [taskDef]);
  const tasks = [{ name: taskType, taskReferenceName: 'work', type: 'SIMPLE' }];
  await engine.send('POST', '/metadata/workflow', { name: workflow, version: 1, schemaVersion: 2, ownerEmail, tasks });
});
afterAll(() => attacked?.stop());
beforeEach(() => void (attacked.engine.requests.length = 0));

type Caller = (path: string, options?: CallOptions) => Promise<RouterAnswer>;

/** Returns a client whose token is signed with the identity provider's own key. */
function client(clientId: string, scope: string): Caller {
  const mint = { issuer: attacked.stack.issuer, audience, nowSeconds: () => Date.now() / 1000 };
  const token = createToken(key, mint, { claims: { client_id: clientId, sub: clientId, scope } });
  return (path, options = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    return call(`${attacked.stack.url}${path}`, { ...options, headers });
  };
}

const started = () => attacked.engine.requests.filter(({ target }) => target === '/api/workflow');

/**
 * Engine calls that the router itself makes for an earlier execution: it reads definitions, and terminates the
 * execution when no client waits any longer.
 */
const ownCalls =
  /^GET \/api\/(?:metadata\/(?:workflow|taskdefs)\/[\w-]+|event|workflow\/[0-9a-f-]{36}(?:\/status)?)(?:\?|$)|^DELETE \/api\/workflow\/[0-9a-f-]{36}/;
/**
 * Returns the calls that reached the engine and do not match `ownCalls`. None of the calls that these tests attempt
 * matches `ownCalls`.
 */
const reached = () =>
  attacked.engine.requests.map(({ method, target }) => `${method} ${target}`).filter((one) => !ownCalls.test(one));

/**
 * Expects that the request passes every rule and that its execution starts. No worker is running, so the client
 * disconnects without a response.
 */
async function expectStarted(by: Caller, path: string): Promise<void> {
  attacked.engine.requests.length = 0;
  const leave = new AbortController();
  const answer = by(path, { signal: leave.signal }).then(
    ({ status, text }) => `${status} ${text}`,
    () => undefined,
  );
  const early = await Promise.race([answer, pollUntil(`the start of ${path}`, () => started().length === 1)]);
  expect(early).toBe(true);
  leave.abort();
  await answer;
}

function expectForbidden(answer: RouterAnswer): void {
  expect(answer.json()).toMatchObject({ type: '/problems/forbidden', status: 403 });
}

describe('a client that is limited to MIS code 001', () => {
  it.each([
    '/adaptor/001/persons',
    '/adaptor/001/mock/colleges/001/persons/1',
    '/adaptor/001/mock/COLLEGES/001/persons/1',
    '/adaptor/%30%30%31/mock/colleges/%30%30%31',
    '/adaptor/001/x?colleges/002',
    '/lmsDW/001/dataSync/',
    '/movies/002',
  ])('%s → an execution is started', async (path) => {
    await expectStarted(client('one', 'sisdata_W'), path);
  });

  it.each([
    '/adaptor/002/persons',
    '/adaptor/%30%30%32/persons',
    '/ADAPTOR/002/persons',
    '/adaptor/002',
    '/adaptor/001/mock/colleges/002/persons/1',
    '/adaptor/002/mock/colleges/001/persons/1',
    '/adaptor/001/colleges/001/colleges/002',
    '/adaptor/001/mock/Colleges/002',
    '/adaptor/001/mock/%63olleges/002',
    '/adaptor/001/mock/colleges/%30%30%32',
    '/adaptor/001/mock//colleges//002',
    '/adaptor/001/mock/colleges/',
    '/adaptor/001/mock/colleges',
    '/adaptor/001/mock/colleges%20/002',
    '/adaptor/001/mock/colleges./002',
    '/adaptor/001/mock%2fcolleges%2f002',
    '/adaptor/001/mock%2Fcolleges/002',
    '/adaptor/001/mock%5ccolleges%5c002',
    '/adaptor/001/mock/%2563olleges/002',
    '/adaptor/001/mock/colleges/%25302',
    '/adaptor/001/mock;x=1/colleges/001',
    '/adaptor/001/mock/colleges;x/002',
    '/adaptor/001/mock/colleges/001;002',
    '/adaptor/001/mock/colleges/0011',
    '/adaptor/0010/persons',
    '/adaptor/01/persons',
    '/adaptor/001,002/persons',
    '/adaptor/001%2f/colleges/002',
    '/adaptor/*/persons',
    '/lmsDW/002/dataSync/',
    '/lmsdw/002/dataSync',
    '/lmsDW/%30%30%32/dataSync/',
  ])('%s → 403, and nothing is started', async (path) => {
    for (const method of path.startsWith('/lms') ? ['GET'] : ['GET', 'PATCH'])
      expectForbidden(await client('one', 'sisdata_W')(path, { method }));
    expect(reached()).toEqual([]);
  });

  it('dot segments → 400, and nothing reaches the engine', async () => {
    for (const path of ['/adaptor/001/../002/x', '/adaptor/001/%2e%2e/002/x', '/adaptor/001/..%2f002/x'])
      expect((await client('one', 'sisdata_W')(path)).status).toBe(400);
    expect(reached()).toEqual([]);
  });

  it('cannot read executions or definitions, whatever its scope', async () => {
    const admin = client('one', 'conductor_admin');
    for (const path of ['/workflow', '/metadata/taskdefs', '/metadata/workflow', '/tasks/x', '/event/queues/x/y'])
      expectForbidden(await admin(`/conductor/api${path}`));
    expect(reached()).toEqual([]);
  });

  it('gets no tasks unless the configuration also names the pools that it may poll', async () => {
    expectForbidden(await client('one-worker', 'conductor_worker')(`/conductor/api/tasks/poll/${taskType}`));
    expect(reached()).toEqual([]);
  });
});

describe('other clients', () => {
  it('a client may name the MIS codes in its list, none if the list is empty, and all if it has no list', async () => {
    const mixed = '/adaptor/001/mock/colleges/002/persons/1';
    await expectStarted(client('both', ''), mixed);
    expectForbidden(await client('nobody', '')('/adaptor/001/x'));
    await expectStarted(client('nobody', ''), '/movies/x');
    await expectStarted(client('demo', ''), mixed);
    await expectStarted(client('demo', ''), '/adaptor/001/mock;x/colleges%2f002');
  });
});

describe('workers', () => {
  const json = (body: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const api = (path: string) => `/conductor/api/tasks${path}`;
  const worker = (id: string) => client(id, 'conductor_worker');
  const inDomain = (domain: string | undefined) => (domain === undefined ? '' : `domain=${domain}&`);

  /** Starts an execution directly on the engine, in a domain if one is given. */
  async function start(domain?: string): Promise<string> {
    const taskToDomain = domain === undefined ? {} : { [taskType]: domain };
    return (await engine.send('POST', '/workflow', { name: workflow, version: 1, input: {}, taskToDomain })).text;
  }
  async function take(by: Caller, domain?: string): Promise<Task> {
    const [task] = (await by(api(`/poll/batch/${taskType}?${inDomain(domain)}count=1&timeout=20000`))).json<Task[]>();
    return task as Task;
  }
  const statusOf = (id: string) => engine.get<{ status: string; tasks: Task[] }>(`/workflow/${id}?includeTasks=true`);
  const result = ({ taskId, workflowInstanceId }: Task, status = 'COMPLETED') => ({
    taskId,
    workflowInstanceId,
    status,
  });

  it("college 002's worker takes and reports its own tasks", async () => {
    const id = await start('002');
    const task = await take(worker('worker-002'), '002');
    expect(task.workflowInstanceId).toBe(id);
    expect((await worker('worker-002')(api(`/${task.taskId}/log`), { ...json('a line') })).status).toBe(200);
    expect((await worker('worker-002')(api(''), json(result(task)))).status).toBe(200);
    expect((await statusOf(id)).status).toBe('COMPLETED');
  });

  it.each([
    ['another domain', `${'/poll/batch/'}TYPE?domain=001&count=1&timeout=1`],
    ['the default pool', '/poll/batch/TYPE?count=1&timeout=1'],
    ['an empty domain', '/poll/batch/TYPE?domain=&count=1&timeout=1'],
    ['another domain in a single poll', '/poll/TYPE?domain=001'],
    ['the default pool in a single poll', '/poll/TYPE'],
    ['its own domain after another domain', '/poll/batch/TYPE?domain=001&domain=002&count=1&timeout=1'],
    ['a list of domains', '/poll/batch/TYPE?domain=001,002&count=1&timeout=1'],
    ['its own domain in a parameter with a capital letter', '/poll/batch/TYPE?Domain=002&count=1&timeout=1'],
    ["001's queue by the engine's internal name", '/poll/batch/001:TYPE?domain=002&count=1&timeout=1'],
    ["001's queue by its internal name with an encoded colon", '/poll/batch/001%3aTYPE?domain=002&count=1&timeout=1'],
    ['a domain that ends with its own', '/poll/batch/TYPE?domain=001:002&count=1&timeout=1'],
  ])("college 002's worker asks for %s → 403, and 001's task stays in its queue", async (_name, path) => {
    const id = await start('001');
    attacked.engine.requests.length = 0;
    expectForbidden(await worker('worker-002')(api(path.replace('TYPE', taskType))));
    expect(reached()).toEqual([]);
    const task = await take(worker('unlimited'), '001');
    expect(task.workflowInstanceId).toBe(id);
    await worker('unlimited')(api(''), json(result(task)));
  });

  /** Returns the options of an exchange request that polls these domains and reports these results. */
  const exchange = (domains: (string | undefined)[], ...results: object[]) => {
    const wanted = domains.map((domain) => ({ taskType, domain, count: 1 }));
    const lines = [{ workerId: 'by-hand', timeout: 2_000, wanted }, ...results].map((line) => JSON.stringify(line));
    return { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body: lines.join('\n') };
  };

  it("college 002's worker takes and reports only its own tasks in exchanges that also name 001's", async () => {
    const id = await start('001');
    const own = await start('002');
    const by = worker('worker-002');
    expectForbidden(await by(api('/exchange'), exchange(['001', undefined])));
    const answer = (await by(api('/exchange'), exchange(['001', '002']))).json<{ tasks: Task[]; refused: string[] }>();
    expect(answer.tasks.map(({ workflowInstanceId }) => workflowInstanceId)).toEqual([own]);
    expect(answer.refused).toEqual([taskType]);
    const task = await take(worker('unlimited'), '001');
    const mine = answer.tasks[0] as Task;
    const reported = await by(
      api('/exchange'),
      exchange([], result(task), result(mine), { ...result(mine), status: 'X' }),
    );
    expect(reported.json()).toEqual({ tasks: [], statuses: [403, 200, 400] });
    expect([(await statusOf(id)).status, (await statusOf(own)).status]).toEqual(['RUNNING', 'COMPLETED']);
    await worker('unlimited')(api(''), json(result(task)));
  });

  it("college 002's worker cannot report 001's task, extend it or write to its log", async () => {
    const id = await start('001');
    const own = await start('002');
    const task = await take(worker('unlimited'), '001');
    const mine = await take(worker('worker-002'), '002');
    const by = worker('worker-002');
    attacked.engine.requests.length = 0;
    const body = JSON.stringify(result(task));
    const attempts = [
      by(api(''), json(result(task))),
      by(api(''), json(result(task, 'FAILED'))),
      by(api(''), json({ ...result(task, 'IN_PROGRESS'), callbackAfterSeconds: 3600 })),
      by(api('/update-v2'), json(result(task))),
      by(api(`/${task.taskId}/log`), json('a line')),
      // The worker's own task with the id of the other execution, and vice versa.
      by(api(''), json({ ...result(mine), workflowInstanceId: id })),
      by(api(''), json({ ...result(task), workflowInstanceId: own })),
      // Duplicate members: the last one counts, both for the router and for the engine.
      by(api(''), json(body.replace('{', `{"taskId":"${mine.taskId}",`))),
      // The task's reference name instead of its id.
      by(api(''), json({ ...result(task), taskId: `${id}.work` })),
      by(api(''), json({ ...result(task), taskId: 'no-such-task' })),
    ];
    for (const answer of await Promise.all(attempts)) expectForbidden(answer);
    expect(reached().filter((one) => !one.startsWith('GET '))).toEqual([]);
    const { status, tasks } = await statusOf(id);
    expect([status, tasks[0]?.['status']]).toEqual(['RUNNING', 'IN_PROGRESS']);
    expect((await worker('unlimited')(api(''), json(result(task)))).status).toBe(200);
    expect((await by(api(''), json(result(mine)))).status).toBe(200);
    expect([(await statusOf(id)).status, (await statusOf(own)).status]).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it("a result with two task ids, 001's and then an allowed one, does not complete 001's task", async () => {
    const id = await start('001');
    const own = await start('002');
    const task = await take(worker('unlimited'), '001');
    const mine = await take(worker('worker-002'), '002');
    const twice = JSON.stringify(result(mine)).replace('{', `{"taskId":"${task.taskId}",`);
    await worker('worker-002')(api(''), json(twice));
    expect((await statusOf(id)).status).toBe('RUNNING');
    await worker('unlimited')(api(''), json(result(task)));
    await worker('worker-002')(api(''), json(result(mine)));
    expect([(await statusOf(id)).status, (await statusOf(own)).status]).toEqual(['COMPLETED', 'COMPLETED']);
  });

  it('a task that the router does not remember is looked up in the engine', async () => {
    const id = await start('001');
    const own = await start('002');
    const poll = (domain: string) => engine.get<Task>(`/tasks/poll/${taskType}?domain=${domain}`);
    const [task, mine] = [await poll('001'), await poll('002')];
    expectForbidden(await worker('worker-002')(api(''), json(result(task))));
    expectForbidden(await worker('worker-002')(api('/update-v2'), json(result(task))));
    expect((await worker('worker-002')(api(''), json(result(mine)))).status).toBe(200);
    expect([(await statusOf(id)).status, (await statusOf(own)).status]).toEqual(['RUNNING', 'COMPLETED']);
    expect((await worker('worker-typed')(api(''), json(result(task)))).status).toBe(200);
  });

  it('update-v2 returns the next task of the same pool, never one of another pool', async () => {
    const own = [await start('002'), await start('002')];
    const other = await start('001');
    const by = worker('worker-002');
    const done: string[] = [];
    for (let task: Task | undefined; done.length < own.length;) {
      task ??= await take(by, '002');
      done.push(task.workflowInstanceId);
      const next = await by(api('/update-v2'), json(result(task)));
      // The next task may not have been scheduled in time for the response.
      task = next.status === 204 ? undefined : next.json<Task>();
      expect(task?.['domain'] ?? '002').toBe('002');
    }
    expect(done.toSorted()).toEqual(own.toSorted());
    const task = await take(worker('unlimited'), '001');
    expect(task.workflowInstanceId).toBe(other);
    await worker('unlimited')(api(''), json(result(task)));
  });

  it('a worker can poll only the pools and the task types to which the configuration limits it', async () => {
    const id = await start();
    expectForbidden(await worker('worker-default')(api(`/poll/${taskType}?domain=002`)));
    const task = await take(worker('worker-default'));
    expect(task.workflowInstanceId).toBe(id);
    expect((await worker('worker-default')(api(''), json(result(task)))).status).toBe(200);
    expectForbidden(await worker('worker-typed')(api('/poll/movies_intake')));
    expectForbidden(await worker('worker-typed')(api(`/poll/${taskType}?domain=002`)));
    expect((await worker('worker-typed')(api(`/poll/${taskType}?domain=001`))).status).toBe(204);
  });

  it('a dot segment in a task id never becomes a segment of a path that the engine receives', async () => {
    const uuid = crypto.randomUUID();
    for (const place of ['.', '..', '../..', '%2e%2e']) {
      const task = { taskId: `${uuid}.${place}`, workflowInstanceId: uuid, status: 'COMPLETED' };
      await worker('unlimited')(api(''), json(task));
      expectForbidden(await worker('worker-002')(api(''), json(task)));
    }
    for (const { target } of attacked.engine.requests) expect(target).not.toMatch(/\/\.{1,2}(\/|\?|$)/);
  });

  it('a limited worker that also has the admin scope cannot read or register anything', async () => {
    const both = client('worker-002', 'conductor_worker conductor_admin');
    expectForbidden(await both('/conductor/api/workflow/search'));
    expectForbidden(await both(api('/queue/all')));
    expectForbidden(await both('/conductor/api/metadata/taskdefs', json([])));
    expect(reached()).toEqual([]);
  });
});
