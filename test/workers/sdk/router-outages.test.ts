// Tests of workers during outages of the router, the engine or the token endpoint.

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { pollUntil } from '../../stack/poll-until.ts';
import { startRunningClock } from '../../stack/running-clock.ts';
import { FakeRouter, type SeenCall } from '../fake-router.ts';
import { type RawBackEnd, startRawBackEnd } from '../raw-back-end.ts';
import { inboundOf, startedWorkers, type StartedWorkers } from '../started-workers.ts';

let router: FakeRouter;
let backEnd: RawBackEnd;
let started: StartedWorkers | undefined;

const isPoll = ({ wanted }: SeenCall) => wanted.length > 0;
const isUpdate = ({ results }: SeenCall) => results.length > 0;
const isToken = ({ path }: SeenCall) => path === '/token';

beforeEach(async () => {
  router = await new FakeRouter().start();
  backEnd = await startRawBackEnd();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  router.interfere = () => undefined;
  await started?.stop();
  started = undefined;
  await router.stop();
  await backEnd.stop();
});

async function start(values: Record<string, string | number> = {}): Promise<StartedWorkers> {
  const only = { 'movies.url': backEnd.url, 'workers.taskTypes': 'movies_intake', 'workers.drainMs': 1_000 };
  started = await startedWorkers({ ...only, ...values }, { router });
  return started;
}
const addMovie = (more = {}) => router.addTask('movies_intake', inboundOf({ path: '/Up' }), more);
const messages = () => started?.lines.map(({ msg }) => msg) ?? [];
const count = (message: RegExp) => messages().filter((text) => message.test(String(text))).length;

/** Returns the body of a response in which each result has this status. */
const statuses = (status: number, results: number) =>
  JSON.stringify({ tasks: [], statuses: Array(results).fill(status) });

/** Starts a back end that responds to no request before `release` is called. */
async function startSlowBackEnd(): Promise<{ slow: RawBackEnd; release: () => void }> {
  const released = Promise.withResolvers<undefined>();
  const slow = await startRawBackEnd((socket) => {
    void released.promise.then(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  onTestFinished(() => slow.stop());
  return { slow, release: () => released.resolve(undefined) };
}

/** Waits `ms` milliseconds, for tests that check that something does not happen, or not too often. */
async function timeHasPassed(ms: number): Promise<void> {
  const end = performance.now() + ms;
  await pollUntil(`${ms} ms`, () => performance.now() >= end);
}

describe('the token', () => {
  test('is requested in the Conductor format and sent as X-Authorization', async () => {
    await start();
    await router.result(addMovie());
    const token = router.calls.find(isToken);
    expect(JSON.parse(token?.body ?? '')).toEqual({ keyId: 'worker', keySecret: 'worker-secret' });
    expect(token?.token).toBeUndefined();
    expect(router.calls.filter(isToken)).toHaveLength(1);
    expect(router.calls.filter((call) => !isToken(call)).every((call) => call.token !== undefined)).toBe(true);
  });

  test('is requested again when it is revoked between poll and update, and the result is delivered', async () => {
    await start();
    await router.result(addMovie());
    router.revokeTokens();
    await router.result(addMovie());
    expect(router.calls.filter(isToken)).toHaveLength(2);
    expect(count(/cannot be reached/)).toBe(0);
  });

  test('is renewed before the time in its `exp` claim when the response has no expires_in', async () => {
    router.tokenLifetimeSeconds = 1;
    router.saysLifetime = false;
    await start();
    await pollUntil('a second token', () => router.calls.filter(isToken).length >= 2);
    expect(router.calls.filter(isPoll).length).toBeGreaterThan(0);
    expect(count(/cannot be reached/)).toBe(0);
  });

  test('causes no busy loop and only one log line, without secrets, when it is always rejected', async () => {
    router.interfere = (call) => (isToken(call) ? undefined : { status: 401, body: '{"status":401}' });
    await start();
    await pollUntil('the log line', () => count(/cannot be reached/) === 1);
    const before = router.calls.length;
    await pollUntil('more tries', () => router.calls.length > before + 2);
    expect(count(/cannot be reached/)).toBe(1);
    expect(router.calls.length).toBeLessThan(30);
    expect(JSON.stringify(started?.lines)).not.toMatch(/worker-secret|eyJ/);
  });

  test('is requested again until the credentials are accepted', async () => {
    router.interfere = (call) => (isToken(call) ? { status: 401, body: '{"error":"invalid_client"}' } : undefined);
    await start();
    await pollUntil('the log line', () => count(/cannot be reached/) === 1);
    expect(started?.lines.find(({ msg }) => /cannot be reached/.test(String(msg)))?.['reason']).toBe(
      'the token endpoint responded with status 401',
    );
    router.interfere = () => undefined;
    await router.result(addMovie());
  });
});

describe('outages', () => {
  test('workers that start during an outage of the router wait for its end', async () => {
    await router.stop();
    await start();
    await pollUntil('the log line', () => count(/cannot be reached/) === 1);
    await router.start();
    await router.result(addMovie());
  });

  test('an outage that ends → polls within two seconds, and one log line at its start and one at its end', async () => {
    await start({ 'workers.taskTypes': '' });
    await pollUntil('a held exchange', () => router.held === 1);
    await router.stop();
    await pollUntil('the log line', () => count(/cannot be reached/) === 1);
    await timeHasPassed(1_500);
    const sinceBack = startRunningClock();
    onTestFinished(sinceBack.stop);
    await router.start();
    await pollUntil('a held exchange', () => router.held === 1, { everyMs: 5 });
    expect(sinceBack.elapsedMs()).toBeLessThan(2_000);
    await pollUntil('the second log line', () => count(/is back/) === 1);
    expect(count(/cannot be reached/)).toBe(1);
  });

  test.each([503])('polls that get status %i → repeated at growing intervals, never in a busy loop', async (status) => {
    router.interfere = (call) => (isPoll(call) ? { status } : undefined);
    await start();
    await pollUntil('six polls', () => router.calls.filter(isPoll).length >= 6);
    const startedAt = performance.now();
    const before = router.calls.length;
    await pollUntil('two more polls', () => router.calls.length >= before + 2);
    expect(performance.now() - startedAt).toBeGreaterThan(300);
    router.interfere = () => undefined;
    await router.result(addMovie());
  });

  test.each([
    ['an empty list at once', '{"tasks":[]}'],
    ['no task list', '{}'],
    ['a report that the engine does not respond', '{"tasks":[],"unavailable":true}'],
    ['a body that is not JSON', '<html>'],
  ])('polls that get %s → no busy loop', async (_label, body) => {
    router.interfere = (call) => (isPoll(call) ? { status: 200, body } : undefined);
    await start({ 'workers.pollTimeoutMs': 5_000 });
    await pollUntil('some polls', () => router.calls.filter(isPoll).length >= 3);
    const before = router.calls.length;
    await timeHasPassed(500);
    expect(router.calls.length - before).toBeLessThan(12);
    router.interfere = () => undefined;
    await router.result(addMovie());
  });

  test.each([
    ['results get 503 too', (_results: number) => ({ status: 503 })],
    ['the engine accepts none of the results', (results: number) => ({ status: 200, body: statuses(503, results) })],
  ])('polls that get 503 while %s → as few polls as when no results are waiting', async (_label, respond) => {
    const { slow, release } = await startSlowBackEnd();
    await start({ 'movies.url': slow.url, 'workers.concurrency': 8 });
    for (let task = 0; task < 8; task++) addMovie();
    await pollUntil('the calls', () => slow.requests.length === 8);
    router.interfere = (call) => {
      if (isPoll(call)) return { status: 503 };
      return isUpdate(call) ? respond(call.results.length) : undefined;
    };
    const before = router.calls.length;
    release();
    const calls = () => router.calls.slice(before);
    await pollUntil('repeated reports', () => calls().filter(isUpdate).length >= 60);
    expect(calls().filter(isPoll).length).toBeLessThan(25);
  });

  test('a 403, which refuses all task types → one log line for each type, and no outage', async () => {
    router.interfere = (call) => (isPoll(call) ? { status: 403 } : undefined);
    await start();
    await pollUntil('some polls', () => router.calls.filter(isPoll).length >= 6);
    expect([count(/client no tasks of this type/), count(/cannot be reached/)]).toEqual([1, 0]);
    router.interfere = () => undefined;
    await router.result(addMovie());
    expect([count(/client tasks of this type again/), count(/is back/)]).toEqual([1, 0]);
  });

  test('a task type is refused for a while → two log lines for the type, besides those for an outage', async () => {
    const body = '{"tasks":[],"refused":["movies_intake"]}';
    router.interfere = (call) => (isPoll(call) ? { status: 200, body } : undefined);
    await start();
    await pollUntil('some polls', () => router.calls.filter(isPoll).length >= 3);
    await router.stop();
    await pollUntil('the start of the outage', () => count(/cannot be reached/) === 1);
    await router.start();
    await pollUntil('the end of the outage', () => count(/is back/) === 1);
    expect(started?.lines.filter(({ taskType }) => taskType === 'movies_intake')).toHaveLength(1);
    router.interfere = () => undefined;
    await router.result(addMovie());
    expect(count(/client no tasks of this type/)).toBe(1);
    expect(count(/client tasks of this type again/)).toBe(1);
  });

  test('a single connection reset → a retry without a log line', async () => {
    await start();
    await router.result(addMovie());
    let cut = false;
    router.interfere = (call) => (isUpdate(call) && !cut ? ((cut = true), 'reset') : undefined);
    await router.result(addMovie());
    expect(cut).toBe(true);
    expect(count(/cannot be reached/)).toBe(0);
  });
});

describe('results', () => {
  test.each([500, 503, 429, 401])(
    'updates that get %i for a while → repeated until delivered, without a second call to the back end',
    async (status) => {
      await start();
      let refused = 0;
      router.interfere = (call) => (isUpdate(call) && refused < 5 ? ((refused += 1), { status }) : undefined);
      const taskId = addMovie();
      const result = await router.result(taskId);
      expect(result).toMatchObject({ status: 'COMPLETED', outputData: { outbound: { statusCodeValue: 200 } } });
      expect(refused).toBe(5);
      expect(backEnd.requests).toHaveLength(1);
    },
  );

  test('are kept during an outage of the router and delivered afterwards', async () => {
    const { slow, release } = await startSlowBackEnd();
    await start({ 'movies.url': slow.url });
    const taskId = addMovie();
    await pollUntil('the call', () => slow.requests.length === 1);
    await router.stop();
    release();
    await pollUntil('the log line', () => count(/cannot be reached/) === 1);
    await router.start();
    expect(await router.result(taskId)).toMatchObject({ status: 'COMPLETED' });
    expect(slow.requests).toHaveLength(1);
  });

  test('a result that the engine rejects → a log line, and the task fails instead', async () => {
    await start();
    router.interfere = (call) => (call.results[0]?.status === 'COMPLETED' ? { status: 413 } : undefined);
    const result = await router.result(addMovie());
    expect(result.status).toBe('FAILED_WITH_TERMINAL_ERROR');
    expect(result.reasonForIncompletion).toMatch(/^back-end-bad-answer: /);
    expect(count(/did not accept a result/)).toBe(1);
    router.interfere = () => undefined;
    expect((await router.result(addMovie())).status).toBe('COMPLETED');
  });

  test('of an unknown task (404) are dropped at once, which frees their capacity', async () => {
    await start({ 'workers.concurrency': 1 });
    const body = '{"tasks":[],"statuses":[404]}';
    router.interfere = (call) => (isUpdate(call) ? { status: 200, body } : undefined);
    addMovie();
    await pollUntil('the log line', () => count(/did not accept a result/) > 0);
    router.interfere = () => undefined;
    expect((await router.result(addMovie())).status).toBe('COMPLETED');
  });

  test.each([500, 401, 403])('a result that always gets %i is logged once and is not an outage', async (status) => {
    await start();
    const body = statuses(status, 1);
    const isRefused = ({ results }: SeenCall) => results[0]?.taskId === 'refused';
    router.interfere = (call) => (isRefused(call) ? { status: 200, body } : undefined);
    const taskId = addMovie({ taskId: 'refused' });
    await pollUntil('repeated reports', () => router.calls.filter(isRefused).length >= 6);
    expect((await router.result(addMovie())).status).toBe('COMPLETED');
    expect(started?.lines.filter(({ msg }) => /did not accept a result/.test(String(msg)))).toMatchObject([
      { taskType: 'movies_intake', outcome: 'COMPLETED', reason: `status ${status}` },
    ]);
    expect(count(/cannot be reached|is back/)).toBe(0);
    router.interfere = () => undefined;
    expect((await router.result(taskId)).status).toBe('COMPLETED');
  });

  test('are kept while the router responds with 404, as an earlier release without this call does', async () => {
    await start();
    await router.result(addMovie());
    let refused = 0;
    router.interfere = (call) => (isUpdate(call) && refused < 2 ? ((refused += 1), { status: 404 }) : undefined);
    expect(await router.result(addMovie())).toMatchObject({ status: 'COMPLETED' });
    expect(refused).toBe(2);
  });

  test('that are ready at the same time are sent together, and a rejected result is sent again alone', async () => {
    const { slow, release } = await startSlowBackEnd();
    await start({ 'movies.url': slow.url });
    const ids = [addMovie(), addMovie(), addMovie()];
    await pollUntil('the calls', () => slow.requests.length === 3);
    const batches: string[][] = [];
    router.interfere = ({ results }) => {
      if (results.length === 0) return undefined;
      batches.push(results.map(({ taskId }) => taskId));
      // Rejects the first result of a batch and accepts the others.
      if (results.length === 1) return undefined;
      return {
        status: 200,
        body: JSON.stringify({ tasks: [], statuses: results.map((_, n) => (n === 0 ? 503 : 200)) }),
      };
    };
    release();
    await pollUntil('every result', () => new Set(batches.flat()).size === 3 && batches.at(-1)?.length === 1);
    expect(batches.length).toBeLessThan(6);
    const again = batches.filter((batch) => batch.length > 1).map(([first]) => first);
    for (const id of again) await router.result(id as string);
    expect(ids.toSorted()).toEqual([...new Set(batches.flat())].toSorted());
  });

  test('a result and the next task need only one exchange', async () => {
    await start({ 'workers.pollTimeoutMs': 5_000, 'workers.drainMs': 100 });
    await router.result(addMovie());
    const before = router.calls.length;
    for (let task = 0; task < 20; task++) await router.result(addMovie());
    expect(router.calls.length - before).toBeLessThanOrEqual(21);
  });
});

describe('concurrency', () => {
  test('never exceeds workers.concurrency, and no task is requested without capacity', async () => {
    let open = 0;
    let most = 0;
    const slow = await startRawBackEnd((socket) => {
      most = Math.max(most, (open += 1));
      setTimeout(() => {
        open -= 1;
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      }, 60);
    });
    await start({ 'movies.url': slow.url, 'workers.concurrency': 3 });
    const ids = Array.from({ length: 15 }, () => addMovie());
    await Promise.all(ids.map((id) => router.result(id)));
    expect(most).toBe(3);
    const counts = router.calls.filter(isPoll).map(({ wanted }) => wanted[0]?.count ?? 0);
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    await slow.stop();
  });

  test('lets tasks run while another task of their type is slow', async () => {
    const response = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    let release = () => {};
    const slow = await startRawBackEnd((socket, request) => {
      const respond = () => void socket.write(response);
      if (request.startsWith('GET /slow')) release = respond;
      else respond();
    });
    await start({ 'movies.url': slow.url, 'workers.concurrency': 2, 'workers.backEndTimeoutMs': 60_000 });
    const stuck = router.addTask('movies_intake', inboundOf({ path: '/slow' }));
    await pollUntil('the slow call', () => slow.requests.length === 1);
    for (let task = 0; task < 5; task++) await router.result(addMovie());
    expect(router.results.some(({ taskId }) => taskId === stuck)).toBe(false);
    release();
    expect((await router.result(stuck)).status).toBe('COMPLETED');
    await slow.stop();
  });

  test('a task whose back end never responds fails after workers.backEndTimeoutMs; the next task starts', async () => {
    const silent = await startRawBackEnd(() => undefined);
    // Long enough to connect on a busy machine: otherwise, the back end would count as unreachable.
    await start({ 'movies.url': silent.url, 'workers.concurrency': 1, 'workers.backEndTimeoutMs': 2_000 });
    const ids = [addMovie(), addMovie()];
    for (const id of ids) expect((await router.result(id)).reasonForIncompletion).toMatch(/^back-end-timeout/);
    await silent.stop();
  });

  test('allows updates while polls of every task type are held', async () => {
    await start({ 'workers.taskTypes': '', 'workers.pollTimeoutMs': 5_000, 'workers.drainMs': 100 });
    await pollUntil('a held exchange', () => router.held === 1);
    const clock = startRunningClock();
    onTestFinished(clock.stop);
    await router.result(addMovie());
    expect(clock.elapsedMs()).toBeLessThan(1_000);
  });
});

describe('the SDK', () => {
  test('ignores its environment variables', async () => {
    vi.stubEnv('CONDUCTOR_SERVER_URL', 'http://127.0.0.1:9/api');
    vi.stubEnv('CONDUCTOR_AUTH_KEY', 'other');
    vi.stubEnv('CONDUCTOR_AUTH_SECRET', 'other-secret');
    vi.stubEnv('CONDUCTOR_REQUEST_TIMEOUT_MS', '1');
    await start();
    await router.result(addMovie());
    const tokens = router.calls.filter(isToken).map(({ body }) => body);
    expect(tokens.join()).not.toMatch(/other/);
  });

  test('skips a task without an id and runs the others', async () => {
    await start({ 'workers.concurrency': 2 });
    router.addTask('movies_intake', inboundOf(), { taskId: '' });
    await router.result(addMovie());
    await router.result(addMovie());
    await router.result(addMovie());
  });
});
