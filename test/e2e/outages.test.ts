// Tests of failing programs and connections: which responses clients get in the meantime, and that the system recovers.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BreakableProxy, startBreakableProxy } from '../stack/breakable-proxy.ts';
import { call, type Caller, callerFor } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { startProgram } from '../stack/program.ts';
import { shareStack, type Stack, untilReady } from '../stack/stack.ts';
import { engineOfRun } from './engine-of-run.ts';

const responseDeadlineMs = 20_000;
const engineTimeoutMs = 5_000;
let stack: Stack;
let engine: BreakableProxy;
let demo: Caller;

beforeAll(async () => {
  engine = await startBreakableProxy(engineOfRun().url);
  stack = await shareStack({
    engineUrl: engine.url,
    router: { ROUTER_RESPONSEDEADLINEMS: String(responseDeadlineMs), CONDUCTOR_TIMEOUTMS: String(engineTimeoutMs) },
  });
  demo = await callerFor(stack.url);
});
afterAll(async () => {
  await engine.repair();
  await stack?.stop();
  await engine.stop();
});

const film = '/movies/seven%20samurai';
/** Sends a request that takes long enough for a test to break something in the meantime. */
const slow = (options = {}) => demo('/adaptor/001/mock/faults/slow/5000', options);
const succeeds = async () => (await demo(film)).status === 200;

beforeEach(async () => {
  await engine.repair();
  await pollUntil('a request to succeed', succeeds);
});

describe('the engine', () => {
  it('unreachable: 503 with Retry-After before any timeout; 401 and 404 as usual; recovers on its own', async () => {
    await engine.cut();
    const startedAt = performance.now();
    const answer = await demo(film);
    expect(performance.now() - startedAt).toBeLessThan(engineTimeoutMs);
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.json()).toMatchObject({ type: '/problems/engine-unavailable' });
    expect((await call(`${stack.url}${film}`)).status).toBe(401);
    expect((await demo('/nowhere')).status).toBe(404);
    const ready = await call(`${stack.operationsUrl}/health/ready`);
    expect(ready.status).toBe(503);
    expect(ready.json()).toMatchObject({ reasons: { engine: [expect.any(String)] } });
    expect((await call(`${stack.operationsUrl}/health/live`)).status).toBe(200);

    await engine.repair();
    const mendedAt = performance.now();
    await pollUntil('service to return', succeeds);
    expect(performance.now() - mendedAt).toBeLessThan(20_000);
  });

  it('lost while a request waits and back before its deadline: the request gets its response', async () => {
    const waiting = slow();
    await pollUntil('the task to be with its worker', async () => (await openFaults()) > 0);
    await engine.cut();
    await engine.repair();
    expect((await waiting).status).toBe(200);
  });

  it('lost while a worker holds a result: the result is kept and reported', async () => {
    const waiting = slow({ method: 'POST', body: 'x' });
    await pollUntil('the task to be with its worker', async () => (await openFaults()) > 0);
    await engine.cut();
    await pollUntil('the back end to respond', async () => (await openFaults()) === 0);
    await engine.repair();
    expect((await waiting).status).toBe(200);
  });

  it('frozen: 503 or 504 within the response deadline', async () => {
    engine.freeze();
    const startedAt = performance.now();
    const answer = await demo(film);
    expect(performance.now() - startedAt).toBeLessThan(responseDeadlineMs + 15_000);
    expect([503, 504]).toContain(answer.status);
    await engine.repair();
  });
});

async function openFaults(): Promise<number> {
  return (await call(`${stack.backEndsUrl}/adaptors/001/mock/faults`)).json<{ open: number }>().open;
}

describe('the router', () => {
  it('killed and started again: workers reconnect by themselves', async () => {
    await stack.router.kill();
    await stack.restartRouter();
    demo = await callerFor(stack.url);
    await pollUntil('a request to succeed', succeeds);
  });

  it('told to stop: requests in flight get responses, new connections are refused, exit code 0', async () => {
    const waiting = slow();
    await pollUntil('the task to be with its worker', async () => (await openFaults()) > 0);
    const stopped = stack.router.stop();
    await pollUntil('new connections to be refused', () =>
      call(`${stack.url}/`).then(
        () => false,
        () => true,
      ),
    );
    expect((await waiting).status).toBe(200);
    expect(await stopped).toBe(0);
    await stack.restartRouter();
    demo = await callerFor(stack.url);
  });

  it('started while the engine is unreachable: responds with 503, and is ready once the engine is back', async () => {
    await stack.router.stop();
    await engine.cut();
    await stack.restartRouter();
    demo = await callerFor(stack.url);
    expect((await demo(film)).status).toBe(503);
    await engine.repair();
    await untilReady(stack);
  });
});

describe('workers', () => {
  it('told to stop: the in-flight task is finished and reported, exit code 0', async () => {
    const waiting = slow();
    await pollUntil('the task to be with its worker', async () => (await openFaults()) > 0);
    const [workers] = stack.workers;
    expect(await workers?.stop()).toBe(0);
    expect((await waiting).status).toBe(200);
    stack.workers.splice(0, 1);
    await stack.addWorkers();
  });

  it('killed before a task was taken: another process takes it', async () => {
    await stack.workers[0]?.kill();
    stack.workers.splice(0, 1);
    // On a busy machine, the other process may take longer to start than the response deadline.
    const waiting = demo(film, { headers: { prefer: 'wait=60' } });
    await stack.addWorkers();
    expect((await waiting).status).toBe(200);
  });
});

describe('the identity provider', () => {
  it('unavailable: tokens issued earlier still work; the token path responds with 503', async () => {
    const { port } = new URL(stack.issuer);
    await stack.identityProvider.stop();
    expect((await demo(film)).status).toBe(200);
    const answer = await call(`${stack.url}/token/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials&client_id=demo&client_secret=demo-secret',
    });
    expect(answer.status).toBe(503);
    expect(answer.headers['cache-control']).toBe('no-store');
    stack.identityProvider = await startProgram('dev/identity-provider/main.ts', {
      STATE_DIR: stack.stateDir,
      OAUTH_AUDIENCE: 'urn:service-router',
      IDP_PORT: port,
    });
    demo = await callerFor(stack.url);
  });
});
