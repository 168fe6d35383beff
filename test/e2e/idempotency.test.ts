// Tests of safe retries: one key starts only one execution, on any router and despite failures.

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BackEndEvent } from '../../dev/back-ends/history.ts';
import { createToken } from '../plugins/oauth2/forge.ts';
import { type EngineMood, type EngineProxy, startEngineProxy } from '../faults/engine-proxy.ts';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { call, type Caller, callerFor, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { engineApi } from '../stack/engine-api.ts';
import { issuerKey } from '../stack/issuer-key.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { audience, shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';
import { removeTask } from './never-scheduled.ts';
import { byDepth } from '../run/depth.ts';
import { requires } from '../run/requirements.ts';
import { type RedisServer, startRedisServer } from '../stack/redis-server.ts';

const engineUrl = engineOfRun().url;
const dir = mkdtempSync(join(tmpdir(), 'service-router-idempotency-'));
const historyFile = join(dir, 'history.jsonl');
writeFileSync(historyFile, '');
const [oldKey, newKey] = ['old', 'new'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [string, string];

/** Limits that admit all requests, because these tests are not about overload. */
const room = {
  ADMISSION_QUEUELENGTH: '2000',
  ADMISSION_QUEUEMS: '60000',
  ADMISSION_BACKENDSHAREPERCENT: '100',
  ROUTER_RESPONSEDEADLINEMS: '60000',
};

let engine: EngineProxy;
let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  engine = await startEngineProxy(engineUrl);
  stack = await shareStack({
    engineUrl: engine.url,
    router: { ...room, PAYLOAD_KEY: oldKey },
    workers: { PAYLOAD_KEY: oldKey, PAYLOAD_DECRYPTIONKEYS: newKey },
    backEnds: { BACKENDS_HISTORY_FILE: historyFile },
    colocatedDomain: null,
  });
  demo = await callerFor(stack.url);
  await pollUntil('the workers to serve', async () => (await demo('/adaptor/001/mock/echo')).status === 200);
});
afterAll(async () => {
  await stack?.stop();
  await engine?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const echo = (name: string = randomUUID()) => `/adaptor/001/mock/echo/${name}`;
const keyed = (key: string, options: CallOptions = {}): CallOptions => ({
  method: 'PUT',
  body: '{"name":"x"}',
  ...options,
  headers: { 'content-type': 'application/json', ...options.headers, 'idempotency-key': key },
});
const typeOf = (answer: RouterAnswer) => answer.json<{ type: string }>().type.replace('/problems/', '');
const replayed = ({ headers }: RouterAnswer) => headers['idempotency-replayed'];

/** Returns the requests that the back ends received for paths that contain the last segment of `path`. */
function received(path: string): (BackEndEvent & { target: string })[] {
  const text = path.slice(path.lastIndexOf('/') + 1);
  const lines = readFileSync(historyFile, 'utf8').trimEnd().split('\n');
  return lines
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as BackEndEvent & { event: string; target: string })
    .filter(({ event }) => event === 'received');
}

/** Returns a response without the parts that differ from one exchange to the next. */
function essence({ status, bytes, headers }: RouterAnswer) {
  const {
    date: _d,
    connection: _c,
    'keep-alive': _k,
    'x-request-id': _r,
    ratelimit: _l,
    'idempotency-replayed': _i,
    ...rest
  } = headers;
  return { status, bytes, headers: rest };
}

async function restartRouter(env: Record<string, string>): Promise<void> {
  await stack.router.stop();
  await stack.restartRouter(env);
}

describe.skipIf(engineOfRun().stateDir === '')('an execution that a killed engine never scheduled', () => {
  it('is continued when its request is repeated, although the index lacks the execution', async () => {
    const [path, key] = [echo(), randomUUID()];
    await Promise.all(stack.workers.map((workers) => workers.stop()));
    stack.workers = [];
    try {
      const accepted = await demo(path, keyed(key, { headers: { prefer: 'respond-async' } }));
      expect(accepted.status).toBe(202);
      removeTask(engineOfRun().stateDir, String(accepted.headers['x-execution-id']), 120_000);
    } finally {
      await stack.addWorkers();
    }
    const repeated = await pollUntil('the response', async () => {
      const answer = await demo(path, keyed(key));
      return answer.status !== 409 && answer;
    });
    expect([repeated.status, replayed(repeated)]).toEqual([200, 'true']);
    expect(received(path)).toHaveLength(1);
  });
});

describe('the same key and the same request', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s gets the first response again, and the back end receives the request once',
    async (method) => {
      const path = echo();
      const options = keyed(randomUUID(), { method });
      const first = await demo(`${path}?a=%20b`, options);
      expect([first.status, replayed(first)]).toEqual([200, undefined]);
      const second = await demo(`${path}?a=%20b`, options);
      expect(replayed(second)).toBe('true');
      expect(essence(second)).toEqual(essence(first));
      expect(received(path)).toHaveLength(1);
      // The back end receives the execution id as the key, not the client's key.
      const { headers } = first.json<{ headers: Record<string, string> }>();
      expect(headers['idempotency-key']).toBe(first.headers['x-execution-id']);
    },
  );

  it('a key in quotation marks is the same key; other headers do not matter', async () => {
    const [path, key] = [echo(), randomUUID()];
    await demo(path, keyed(key));
    expect(replayed(await demo(path, keyed(`"${key}"`, { headers: { 'user-agent': 'other' } })))).toBe('true');
    expect(received(path)).toHaveLength(1);
  });

  it('a problem document is replayed as well, byte for byte', async () => {
    const path = `/adaptor/001/mock/faults/cut/1?x=/${randomUUID()}`;
    const key = randomUUID();
    const first = await demo(path, keyed(key));
    expect([first.status, typeOf(first)]).toEqual([502, 'back-end-bad-answer']);
    const second = await demo(path, keyed(key));
    expect(replayed(second)).toBe('true');
    expect(essence(second)).toEqual(essence(first));
    expect(received(path)).toHaveLength(1);
  });

  it('get 409 with links while the first request is in progress, and then its response', async () => {
    const path = `/adaptor/001/mock/faults/slow/5000?x=/${randomUUID()}`;
    const options = keyed(randomUUID());
    const first = demo(path, options);
    await pollUntil('the back end to have the request', () => received(path).length === 1);
    const second = await demo(path, options);
    expect([second.status, typeOf(second), second.headers['retry-after']]).toEqual([
      409,
      'idempotency-key-in-use',
      '1',
    ]);
    const { executionId, links } = second.json<{ executionId: string; links: { self: string; response: string } }>();
    expect(links.self).toBe(`/executions/${executionId}`);
    expect((await demo(links.self)).json()).toMatchObject({ id: executionId, state: 'running' });
    expect((await first).headers['x-execution-id']).toBe(executionId);
    expect(essence(await demo(path, options))).toEqual(essence(await first));
    expect(essence(await demo(links.response))).toEqual(essence(await first));
  });

  it('with Prefer: respond-async, get 202 once, then 409, then the response', async () => {
    const path = `/adaptor/001/mock/faults/slow/3000?x=/${randomUUID()}`;
    const options = keyed(randomUUID(), { headers: { prefer: 'respond-async' } });
    const accepted = await demo(path, options);
    expect(accepted.status).toBe(202);
    expect((await demo(path, options)).status).toBe(409);
    await demo(String(accepted.headers['location']), { headers: { prefer: 'wait=10' } });
    expect(await demo(path, options)).toMatchObject({ status: 200, text: '{"slept":3000}' });
    expect(received(path)).toHaveLength(1);
  });

  it('start one execution when the client disconnects and tries again', async () => {
    const path = `/adaptor/001/mock/faults/slow/5000?x=/${randomUUID()}`;
    const options = keyed(randomUUID());
    const leave = new AbortController();
    const gone = demo(path, { ...options, signal: leave.signal }).catch(() => 'gone');
    await pollUntil('the back end to have the request', () => received(path).length === 1);
    leave.abort();
    expect(await gone).toBe('gone');
    const again = await pollUntil('the response', async () => {
      const answer = await demo(path, options);
      return answer.status !== 409 && answer;
    });
    expect(again).toMatchObject({ status: 200, text: '{"slept":5000}' });
    expect(received(path)).toHaveLength(1);
  });

  it('a key on a read is ignored, even a malformed one', async () => {
    const path = echo();
    for (const key of ['k', 'k', 'a b'])
      expect(replayed(await demo(path, { headers: { 'idempotency-key': key } }))).toBe(undefined);
    expect(received(path)).toHaveLength(3);
  });

  it('a repeated PATCH is applied once, and MDM is notified', async () => {
    const person = '/adaptor/001/mock/colleges/001/persons/0320991';
    const options = keyed(randomUUID(), { method: 'PATCH', body: `{"cccid":"I${Date.now() % 1e7}"}` });
    const first = await demo(person, options);
    expect(first.status).toBe(200);
    expect(essence(await demo(person, options))).toEqual(essence(first));
    const executionId = String(first.headers['x-execution-id']);
    const log = async () =>
      (await call(`${stack.backEndsUrl}/mdm/governance-log?executionId=${executionId}`)).json<unknown[]>();
    await pollUntil('MDM to be notified', async () => (await log()).length > 0);
    expect((await demo(`/adaptor/001/mock/idempotency-keys/${executionId}`)).json()).toMatchObject({
      received: 1,
      applied: 1,
    });
  });
});

describe('the same key and another request', () => {
  const path = echo();
  const key = randomUUID();
  it.each<[string, string, CallOptions]>([
    ['another body', path, { body: '{"name": "x"}' }],
    ['no body', path, { body: '' }],
    ['another method', path, { method: 'PATCH' }],
    ['another query', `${path}?a`, {}],
    ['an empty query', `${path}?`, {}],
    ['another path', `${path}/`, {}],
    ['another college', path.replace('001', '002'), {}],
  ])('%s → 422', async (_what, target, options) => {
    await demo(path, keyed(key));
    const answer = await demo(target, keyed(key, options));
    expect([answer.status, typeOf(answer), replayed(answer)]).toEqual([422, 'idempotency-key-reused', undefined]);
    expect(received(path)).toHaveLength(1);
  });

  it('the same key of another client starts a separate execution', async () => {
    const own = echo();
    const shared = randomUUID();
    const mint = { issuer: stack.issuer, audience, nowSeconds: () => Date.now() / 1000 };
    const token = createToken(await issuerKey(stack), mint, { claims: { client_id: 'other', sub: 'other' } });
    const other = keyed(shared, { headers: { authorization: `Bearer ${token}` } });
    const mine = await demo(own, keyed(shared));
    const theirs = await call(stack.url + own, other);
    expect([theirs.status, replayed(theirs)]).toEqual([200, undefined]);
    expect(theirs.headers['x-execution-id']).not.toBe(mine.headers['x-execution-id']);
    expect((await call(stack.url + own, keyed(shared, { ...other, body: '{}' }))).status).toBe(422);
  });
});

describe('a malformed key', () => {
  it.each([
    ['empty', ''],
    ['empty, in quotation marks', '""'],
    ['256 characters', 'k'.repeat(256)],
    ['10 KB', 'k'.repeat(10_240)],
    ['a tab inside', 'a\tb'],
    ['a space inside', 'a b'],
    ['two keys', 'a, b'],
    ['an unterminated string', '"a'],
    ['text after a quoted string', '"a"b'],
    ['an invalid escape', '"a\\b"'],
    ['non-ASCII bytes', 'k\u00e9y'],
  ])('%s → 400, and nothing is started', async (_what, key) => {
    const path = echo();
    const answer = await demo(path, keyed(key));
    expect([answer.status, typeOf(answer)]).toEqual([400, 'malformed-idempotency-key']);
    expect(answer.headers['x-execution-id']).toBeUndefined();
    expect(answer.text).not.toContain('kkkk');
    expect(received(path)).toEqual([]);
  });

  it('two fields → 400; a control character → 400', async () => {
    const two = await demo(echo(), { method: 'PUT', headers: { 'idempotency-key': ['a', 'b'] } });
    expect([two.status, typeOf(two)]).toEqual([400, 'malformed-idempotency-key']);
    const { hostname, port } = new URL(stack.url);
    const head = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(Number(port), hostname, () =>
        socket.end(`PUT /adaptor/001/x HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\x01b\r\nContent-Length: 0\r\n\r\n`),
      );
      socket.on('data', (chunk) => (text += chunk.toString())).on('close', () => resolve(text));
    });
    expect(head).toMatch(/^HTTP\/1.1 400 /);
  });

  it('255 characters are accepted', async () => {
    expect((await demo(echo(), keyed(randomUUID().padEnd(255, 'k')))).status).toBe(200);
  });
});

describe('stored keys', () => {
  it('the engine stores a digest of the key and an encrypted payload; logs contain neither in plain text', async () => {
    const [key, secret] = [`very-secret-${randomUUID()}`, `payload-${randomUUID()}`];
    const answer = await demo(echo('kept'), keyed(key, { body: secret }));
    const execution = await call(
      `${engineUrl}/api/workflow/${String(answer.headers['x-execution-id'])}?includeTasks=true`,
    );
    expect(execution.json()['correlationId']).toMatch(/^idempotency-[0-9a-f]{64}$/);
    for (const text of [key, secret]) {
      expect(execution.text).not.toContain(text);
      expect(stack.router.output() + stack.workers.map((worker) => worker.output()).join('')).not.toContain(text);
    }
  });

  it('a key is forgotten with its execution, and then starts another execution', async () => {
    const [path, key] = [echo(), randomUUID()];
    const first = await demo(path, keyed(key));
    const id = String(first.headers['x-execution-id']);
    await engineApi(engineUrl).send('DELETE', `/workflow/${id}/remove?archiveWorkflow=false`);
    const second = await pollUntil('the key to be free', async () => {
      const answer = await demo(path, keyed(key));
      return replayed(answer) === undefined && answer;
    });
    expect(second.status).toBe(200);
    expect(second.headers['x-execution-id']).not.toBe(id);
    expect(received(path)).toHaveLength(2);
    expect(replayed(await demo(path, keyed(key)))).toBe('true');
  });

  it('a key survives a killed router; after a rotation, the router needs the old payload key to compare', async () => {
    const [path, key] = [echo(), randomUUID()];
    const first = await demo(path, keyed(key));
    await stack.router.kill();
    await stack.restartRouter({ PAYLOAD_KEY: newKey, PAYLOAD_DECRYPTIONKEYS: oldKey });
    expect(essence(await demo(path, keyed(key)))).toEqual(essence(first));
    expect((await demo(path, keyed(key, { body: '{}' }))).status).toBe(422);
    await restartRouter({ PAYLOAD_KEY: newKey });
    const unreadable = await demo(path, keyed(key));
    expect([unreadable.status, typeOf(unreadable)]).toEqual([502, 'payload-unreadable']);
    expect(received(path)).toHaveLength(1);
    await restartRouter({});
  });
});

describe('when the engine fails', () => {
  const onlyStarts: EngineProxy['concerns'] = ({ method, url }) => method === 'POST' && url === '/api/workflow';
  const lookups: EngineProxy['concerns'] = ({ url = '' }) => url.includes('/correlated/');

  it.each<[string, EngineProxy['concerns']]>([
    ['the lookup of an earlier execution', lookups],
    ['the start', onlyStarts],
  ])('at %s: 503, nothing is started, and the key is still unused', async (_what, concerns) => {
    const [path, key] = [echo(), randomUUID()];
    Object.assign(engine, { mood: '500', concerns });
    const refused = await demo(path, keyed(key));
    engine.mood = 'pass';
    expect([refused.status, typeOf(refused)]).toEqual([503, 'engine-unavailable']);
    expect(received(path)).toEqual([]);
    const answer = await demo(path, keyed(key));
    expect([answer.status, replayed(answer)]).toEqual([200, undefined]);
    expect(received(path)).toHaveLength(1);
  });

  it.each<EngineMood>(['reset', '500-after', 'html'])(
    'and its response to the start is lost (%s): 504; the same key finds the execution',
    async (mood) => {
      const [path, key] = [echo(), randomUUID()];
      Object.assign(engine, { mood, concerns: onlyStarts });
      const first = await demo(path, keyed(key));
      engine.mood = 'pass';
      expect([first.status, typeOf(first)]).toEqual([504, 'outcome-unknown']);
      const answer = await pollUntil('the response', async () => {
        const again = await demo(path, keyed(key));
        return again.status !== 409 && again;
      });
      expect([answer.status, replayed(answer)]).toEqual([200, 'true']);
      expect(received(path)).toHaveLength(1);
    },
  );

  it('and it is unknown whether the start has arrived: 504, then 409, and no second start', async () => {
    const [path, key] = [echo(), randomUUID()];
    // The response is not HTTP: the engine did not receive the start, but the router cannot know that.
    Object.assign(engine, { mood: 'garbage', concerns: onlyStarts });
    const first = await demo(path, keyed(key));
    engine.mood = 'pass';
    expect([first.status, typeOf(first)]).toEqual([504, 'outcome-unknown']);
    const second = await demo(path, keyed(key));
    expect([second.status, typeOf(second)]).toEqual([409, 'idempotency-key-in-use']);
    expect(second.json()['links']).toBeUndefined();
    expect(received(path)).toEqual([]);
  });
});

describe('a key that the gateway configuration requires', () => {
  it('a write without a key → 400; reads and writes with a key are served', async () => {
    const map = join(dir, 'map.yml');
    const text = readFileSync('gateway.config.yml', 'utf8');
    const where = '              name: college-adaptorWF\n';
    expect(text).toContain(where);
    writeFileSync(map, text.replace(where, `${where}              idempotencyKey: required\n`));
    const router = await startProgram('gateway/main.ts', { ...stack.routerEnv, ROUTER_GATEWAYCONFIGFILE: map });
    const strict = await callerFor(String(router.ready['url']));
    const missing = await strict(echo(), { method: 'PUT' });
    expect([missing.status, typeOf(missing)]).toEqual([400, 'idempotency-key-missing']);
    expect((await strict(echo())).status).toBe(200);
    expect((await strict(echo(), keyed(randomUUID()))).status).toBe(200);
    await router.stop();
  });
});

const pairCount = byDepth(12, 500);

/**
 * Sends pairs of the same request with the same key, all pairs at once, and expects one execution for every key. On a
 * busy machine, some requests are refused or get `outcome-unknown`; these are repeated.
 */
async function race(callers: [Caller, Caller]): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  const run = randomUUID();
  const names = Array.from({ length: pairCount }, (_, n) => `${run}-${n}`);
  const executionOf = ({ headers }: RouterAnswer) => String(headers['x-execution-id']);
  const pairs = await Promise.all(
    names.map(async (name) => {
      const pair = await Promise.all(callers.map((caller) => caller(echo(name), keyed(name))));
      const seen = pair.map((answer) => (replayed(answer) === 'true' ? 'replayed' : String(answer.status))).toSorted();
      outcomes[seen.join()] = (outcomes[seen.join()] ?? 0) + 1;
      return { name, ids: new Set(pair.map(executionOf).filter((id) => id !== 'undefined')) };
    }),
  );
  for (const { name, ids } of pairs) {
    const [caller] = callers;
    const asked = async () => {
      const answer = await caller(echo(name), keyed(name));
      return answer.status === 200 && answer;
    };
    const last = await pollUntil(`the response of ${name}`, asked, { everyMs: 200 });
    expect([...ids, executionOf(last)]).toEqual(Array.from({ length: ids.size + 1 }, () => executionOf(last)));
  }
  const events = received(run);
  const repeated = events.filter(({ target }, index) => events.findIndex((each) => each.target === target) !== index);
  expect(repeated, JSON.stringify(events)).toEqual([]);
  expect(events).toHaveLength(pairCount);
  // Without load, every pair has one of these two outcomes.
  const plain = (outcomes['200,409'] ?? 0) + (outcomes['200,replayed'] ?? 0);
  expect(plain, JSON.stringify(outcomes)).toBeGreaterThan(0);
  return outcomes;
}

describe('simultaneous pairs of requests with one key start one execution each', () => {
  it('at one router', async () => {
    await race([demo, demo]);
  }, 400_000);

  describe('at two routers, with Redis', requires('redis'), () => {
    let server: RedisServer;
    let redis: BreakableProxy;
    let second: Program;
    let atSecond: Caller;

    beforeAll(async () => {
      server = await startRedisServer();
      redis = await startBreakableProxy(server.url);
      const env = { REDIS_URL: redis.url };
      await restartRouter(env);
      second = await startProgram('gateway/main.ts', { ...stack.routerEnv, ...env });
      demo = await callerFor(stack.url);
      atSecond = await callerFor(String(second.ready['url']));
      const ready = async (caller: Caller) => (await caller(echo(), keyed(randomUUID()))).status === 200;
      await pollUntil('both routers to serve', async () => (await ready(demo)) && (await ready(atSecond)));
    });
    afterAll(async () => {
      await second?.stop();
      await redis?.stop();
      await server?.stop();
    });

    it('with one request of each pair at each router', async () => {
      await race([demo, atSecond]);
      const left = async () => (await server.command('KEYS', 'service-router:idempotency-*')) as unknown[];
      await pollUntil('no lock to be left in Redis', async () => (await left()).length === 0);
    }, 400_000);

    it('one router replays the response of an execution that the other started', async () => {
      const [path, key] = [echo(), randomUUID()];
      // On a busy machine, Redis or the engine may miss its deadline after the preceding load.
      const responseOf = (caller: Caller) =>
        pollUntil('a response', async () => {
          const answer = await caller(path, keyed(key));
          return answer.status !== 503 && answer;
        });
      const first = await responseOf(demo);
      const again = await responseOf(atSecond);
      expect(first.status).toBe(200);
      expect([replayed(again), essence(again)]).toEqual(['true', essence(first)]);
    });

    it.each(['cut', 'frozen'])(
      'while Redis is %s, requests with a key get 503 and start nothing, and requests without a key succeed',
      async (how) => {
        if (how === 'cut') await redis.cut();
        else redis.freeze();
        const [path, key] = [echo(), randomUUID()];
        const refused = await demo(path, keyed(key));
        expect([refused.status, typeOf(refused), refused.headers['retry-after']]).toEqual([
          503,
          'idempotency-unavailable',
          '1',
        ]);
        expect(received(path)).toEqual([]);
        expect((await demo(echo(), { method: 'PUT' })).status).toBe(200);
        await redis.repair();
        const answer = await pollUntil('Redis to be available again', async () => {
          const again = await demo(path, keyed(key));
          return again.status === 200 && again;
        });
        expect(replayed(answer)).toBeUndefined();
        expect(received(path)).toHaveLength(1);
      },
    );
  });
});
