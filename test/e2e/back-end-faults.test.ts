// Tests of failing back ends (down, slow, malformed responses): clients get the documented response, and the next
// request works.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Caller, callerFor, type RouterAnswer } from '../stack/client.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { shareStack, type Stack } from '../stack/stack.ts';
import { findFreePort } from '../../dev/setup/ports.mjs';
import { engineOfRun } from './engine-of-run.ts';

let stack: Stack;
let demo: Caller;

beforeAll(async () => {
  const nobody = await findFreePort();
  stack = await shareStack({
    engineUrl: engineOfRun().url,
    router: { ROUTER_RESPONSEDEADLINEMS: '8000' },
    workers: { WORKERS_BACKENDTIMEOUTMS: '3000', ADAPTOR_666_URL: `http://127.0.0.1:${nobody}` },
  });
  demo = await callerFor(stack.url);
});
afterAll(() => stack?.stop());

afterEach(async () => {
  expect((await demo('/movies/seven%20samurai')).status).toBe(200);
});

const fault = (kind: string, options = {}) => demo(`/adaptor/001/mock/faults/${kind}`, options);

function expectProblem(answer: RouterAnswer, status: number, code: string): void {
  expect(answer.json()).toMatchObject({
    type: `/problems/${code}`,
    status,
    requestId: answer.headers['x-request-id'],
    executionId: answer.headers['x-execution-id'],
  });
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.json()['detail']).not.toMatch(/'$/);
  expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|node:|\bat /);
}

describe('no usable response', () => {
  it.each([
    ['a connection that is reset', 'reset', 502, 'back-end-bad-answer'],
    ['a response that is cut off', 'cut', 502, 'back-end-bad-answer'],
    ['a response shorter than announced', 'bad-length', 502, 'back-end-bad-answer'],
    ['a malformed header', 'bad-header', 502, 'back-end-bad-answer'],
    ['a response of 10 MiB', 'bytes/10485760', 502, 'back-end-bad-answer'],
    ['no response at all', 'never', 504, 'back-end-timeout'],
    ['a response after the deadline', 'slow/9000', 504, 'back-end-timeout'],
  ])('%s (%s) → %i %s', async (_title, kind, status, code) => {
    expectProblem(await fault(kind), status, code);
  });

  it('a back end that is down → 502', async () => {
    expectProblem(await demo('/adaptor/666/x'), 502, 'back-end-unreachable');
  });

  it('a write without a response → 504, which says that the write may have been applied', async () => {
    const answer = await fault('never', { method: 'PATCH', body: '{}' });
    expectProblem(answer, 504, 'back-end-timeout');
    expect(answer.json()['detail']).toMatch(/may have been applied/);
  });
});

describe('responses that only look wrong are passed on unchanged', () => {
  it('HTML', async () => {
    const answer = await fault('html');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('<!doctype html>');
  });

  it('NUL in JSON', async () => {
    expect((await fault('nul')).text).toBe('{"byte":"\0","escaped":"\\u0000"}');
  });

  it('a redirect, which is not followed', async () => {
    const answer = await fault('redirect');
    expect(answer.status).toBe(302);
    expect(answer.headers['location']).toMatch(/^http:/);
  });

  it('204 and gzip', async () => {
    expect((await fault('empty')).status).toBe(204);
    const answer = await fault('gzip');
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.bytes.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
  });

  it.each([400, 401, 404, 409, 418, 422, 500, 502, 503, 504])('status %i', async (status) => {
    const answer = await fault(`status/${status}`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'as sent',
    });
    expect(answer.status).toBe(status);
    expect(answer.text).toBe('as sent');
  });
});

describe('the response deadline', () => {
  it('a read gets 504 at its response deadline and is terminated; a write continues', async () => {
    await Promise.all(stack.workers.map((workers) => workers.stop()));
    try {
      const startedAt = performance.now();
      const [answer, write] = await Promise.all([
        demo('/movies/x'),
        demo('/adaptor/001/mock/echo', { method: 'POST', body: 'x' }),
      ]);
      expect(performance.now() - startedAt, 'before the default deadline').toBeLessThan(24_000);
      expectProblem(answer, 504, 'wait-budget-spent');
      expect(answer.json()).toMatchObject({ mayStillComplete: false });
      await untilStatus(answer, 'TERMINATED');
      expectProblem(write, 504, 'wait-budget-spent');
      expect(write.json()).toMatchObject({
        mayStillComplete: true,
        execution: expect.stringContaining(String(write.headers['x-execution-id'])),
      });
      stack.workers = [];
      await stack.addWorkers();
      await untilStatus(write, 'COMPLETED');
    } finally {
      if (stack.workers.length === 0) await stack.addWorkers();
      await stack.addWorkers({ WORKERS_DOMAIN: '002' });
    }
  });

  it('a read is terminated when its client disconnects', async () => {
    const ops = await callerFor(stack.url, 'ops');
    const leave = new AbortController();
    const marker = `gone-${randomUUID().slice(0, 8)}`;
    // Almost as long as the timeout for back ends, so that the execution does not end before the client disconnects.
    const waiting = fault('slow/2500', { signal: leave.signal, headers: { 'x-request-id': marker } }).catch(
      () => undefined,
    );
    const find = async () => {
      const found = await ops(`/conductor/api/workflow/college-adaptorWF/correlated/${marker}?includeClosed=true`);
      return found.status === 200 ? found.json<{ status: string; reasonForIncompletion?: string }[]>()[0] : undefined;
    };
    await pollUntil('the execution to start', find);
    leave.abort();
    await waiting;
    await pollUntil('the execution to be terminated', async () => (await find())?.status === 'TERMINATED');
  });
});

async function untilStatus(answer: RouterAnswer, status: string): Promise<void> {
  const ops = await callerFor(stack.url, 'ops');
  await pollUntil(`the execution to be ${status}`, async () => {
    const execution = await ops(
      `/conductor/api/workflow/${String(answer.headers['x-execution-id'])}?includeTasks=false`,
    );
    return execution.json<{ status: string }>().status === status;
  });
}
