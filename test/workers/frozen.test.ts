// Tests of a worker process that is suspended (SIGSTOP) during a poll and resumed after the response timeout of its
// task: it does not send a write, but still sends a read.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pollUntil } from '../stack/poll-until.ts';
import { type Program, startProgram } from '../stack/program.ts';
import { FakeRouter } from './fake-router.ts';
import { ok, type RawBackEnd, startRawBackEnd } from './raw-back-end.ts';
import { inboundOf } from './started-workers.ts';

const responseTimeoutSeconds = 1;
let router: FakeRouter;
let backEnd: RawBackEnd;
let worker: Program;

beforeEach(async () => {
  router = await new FakeRouter().start();
  backEnd = await startRawBackEnd(ok);
  worker = await startProgram('workers/main.ts', {
    CONDUCTOR_APIURL: router.apiURL,
    WORKERS_CLIENTID: 'worker',
    WORKERS_CLIENTSECRET: 'worker-secret',
    WORKERS_TASKTYPES: 'movies_intake',
    WORKERS_POLLTIMEOUTMS: '5000',
    MOVIES_URL: backEnd.url,
  });
  await pollUntil('a held exchange', () => router.held === 1);
});
afterEach(async () => {
  await worker.kill();
  await router.stop();
  await backEnd.stop();
});

/** Sends a task to the suspended worker, resumes the worker after the response timeout and returns the result. */
async function handOutWhileStopped(httpMethod: string) {
  worker.process.kill('SIGSTOP');
  const taskId = router.addTask('movies_intake', inboundOf({ httpMethod, path: '/Up' }), { responseTimeoutSeconds });
  const timedOutAt = performance.now() + responseTimeoutSeconds * 1_000;
  await pollUntil('the response timeout', () => performance.now() > timedOutAt);
  worker.process.kill('SIGCONT');
  return router.result(taskId);
}

describe('a worker resumed after the response timeout of a task that it had not read', () => {
  test('does not send a write and reports that nothing was changed', async () => {
    const { status, reasonForIncompletion } = await handOutWhileStopped('PATCH');
    expect(backEnd.requests).toEqual([]);
    expect(status).toBe('FAILED_WITH_TERMINAL_ERROR');
    expect(reasonForIncompletion).toMatch(/^back-end-unreachable: .*nothing was changed$/);
  });

  test('sends a read, which changes nothing', async () => {
    expect(await handOutWhileStopped('GET')).toMatchObject({ status: 'COMPLETED' });
    expect(backEnd.requests).toHaveLength(1);
  });
});
