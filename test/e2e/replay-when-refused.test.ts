// Tests that a repeated request gets its recorded response even while new requests are refused because of an open
// circuit breaker or overload.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineProxy, startEngineProxy } from '../faults/engine-proxy.ts';
import { type Caller, callerFor, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { readCount } from '../stack/metrics.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const engineUrl = engineOfRun().url;
/** Open responses to the requests for /held. */
const held: ServerResponse[] = [];
const seen: string[] = [];
const createBackEnd = () =>
  createServer((request, response) => {
    request.resume();
    if (request.url === '/held') return void held.push(response);
    seen.push(String(request.url));
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"applied":true}');
  });
const [dying, holding] = [createBackEnd(), createBackEnd()];
let engine: EngineProxy;
let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  engine = await startEngineProxy(engineUrl);
  const urls = [dying, holding].map(async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  stack = await shareStack({
    engineUrl: engine.url,
    colocatedDomain: null,
    router: {
      ADMISSION_MINLIMIT: '4',
      ADMISSION_INITIALLIMIT: '4',
      ADMISSION_MAXLIMIT: '4',
      ADMISSION_MAXINFLIGHT: '4',
      ADMISSION_QUEUELENGTH: '4',
      ADMISSION_QUEUEMS: '60000',
      ADMISSION_BACKENDSHAREPERCENT: '50',
      ROUTER_RESPONSEDEADLINEMS: '60000',
      // Keeps a circuit breaker open once it has opened.
      BREAKER_BACKEND_MINCALLS: '2',
      BREAKER_BACKEND_OPENMS: '3600000',
      BREAKER_ENGINE_MINCALLS: '2',
      BREAKER_ENGINE_OPENMS: '3600000',
    },
    workers: { ADAPTOR_777_URL: await urls[0]!, ADAPTOR_778_URL: await urls[1]! },
  });
  demo = await callerFor(stack.url);
  await pollUntil('the workers to serve', async () => (await demo('/adaptor/001/mock/echo')).status === 200);
});
afterAll(async () => {
  await stack?.stop();
  await engine?.stop();
  for (const server of [dying, holding]) {
    server.closeAllConnections();
    server.close();
  }
});

const typeOf = (answer: RouterAnswer) => answer.json<{ type: string }>().type.replace('/problems/', '');
const keyed = (key: string, options: CallOptions = {}): CallOptions => ({
  method: 'PATCH',
  body: '{"name":"x"}',
  ...options,
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
});
/** Sends a write that the back end applies. */
async function apply(mis: string) {
  const [path, key] = [`/adaptor/${mis}/${randomUUID()}`, randomUUID()];
  const first = await demo(path, keyed(key));
  expect([first.status, first.text]).toEqual([201, '{"applied":true}']);
  return { path, key, first };
}

/**
 * Expects that a repeated request gets the first response, that the back end does not receive it again, and that new
 * requests are refused.
 */
async function expectReplay({ path, key, first }: Awaited<ReturnType<typeof apply>>, refusal: string) {
  const expectRefusal = async (options: CallOptions) => {
    const refused = await demo(path, options);
    expect([refused.status, typeOf(refused), refused.headers['x-execution-id']]).toEqual([503, refusal, undefined]);
  };
  await expectRefusal({ method: 'PATCH', body: '{"name":"x"}' });
  // During load shedding, requests are checked before their pipeline runs; repeated requests must pass this check too.
  for (let repeat = 0; repeat < 2; repeat++) {
    const again = await demo(path, keyed(key));
    expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([201, first.text, 'true']);
    expect(again.headers['x-execution-id']).toBe(first.headers['x-execution-id']);
  }
  await expectRefusal(keyed(randomUUID()));
  const changed = await demo(path, keyed(key, { body: '{"name":"y"}' }));
  expect([changed.status, typeOf(changed)]).toEqual([422, 'idempotency-key-reused']);
  expect(seen.filter((target) => path.endsWith(target))).toHaveLength(1);
}

const breaker = (name: string) => readCount(stack.operationsUrl, `router_breaker_state{breaker="${name}"}`);

describe('a repeated request with the same Idempotency-Key gets the recorded response', () => {
  it('while the router is overloaded', async () => {
    const applied = await apply('778');
    const inFlight = Array.from({ length: 2 }, () => demo('/adaptor/778/held', { method: 'PATCH' }));
    await pollUntil('two requests to reach the back end', () => held.length === 2);
    const queued = Array.from({ length: 2 }, () => demo('/adaptor/778/held', { method: 'PATCH' }));
    const inQueue = () => readCount(stack.operationsUrl, 'router_admission_queued');
    await pollUntil('two requests to wait', async () => (await inQueue()) === 2);
    await expectReplay(applied, 'overloaded');
    expect(await inQueue()).toBe(2);
    for (const count of [2, 4]) {
      await pollUntil('the next requests to reach the back end', () => held.length === count);
      for (const response of held.slice(count - 2)) response.end();
    }
    await Promise.all([...inFlight, ...queued]);
  });

  it('while the circuit breaker of its back end is open', async () => {
    const applied = await apply('777');
    dying.closeAllConnections();
    dying.close();
    await pollUntil('the circuit breaker to open', async () => {
      await demo('/adaptor/777/x');
      return (await breaker('adaptor 777')) === 2;
    });
    await expectReplay(applied, 'back-end-unavailable');
  });

  it('while the circuit breaker of the engine is open but the engine can be read', async () => {
    const applied = await apply('778');
    engine.concerns = ({ method, url }) => method === 'POST' && url === '/api/workflow';
    engine.mood = '500';
    await pollUntil('the circuit breaker to open', async () => {
      await demo('/movies/Metropolis');
      return (await breaker('engine')) === 2;
    });
    await expectReplay(applied, 'engine-unavailable');
  });
});

it('a request with a new Idempotency-Key gets 503 engine-unavailable while the engine cannot be read', async () => {
  engine.concerns = ({ url }) => url?.startsWith('/api/') === true;
  engine.mood = '500';
  const refused = await demo('/adaptor/001/mock/echo', keyed(randomUUID()));
  expect([refused.status, typeOf(refused)]).toEqual([503, 'engine-unavailable']);
  engine.mood = 'pass';
});
