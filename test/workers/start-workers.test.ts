// Tests of workers with a fake router that holds polls, from poll to result.

import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '#lib/config/load.ts';
import type { TaskOutcome } from '../../workers/worker.ts';
import { pollUntil } from '../stack/poll-until.ts';
import { FakeRouter } from './fake-router.ts';
import { type RawBackEnd, startRawBackEnd } from './raw-back-end.ts';
import { defaultTaskTypes, inboundOf, startedWorkers, type StartedWorkers } from './started-workers.ts';

let started: StartedWorkers | undefined;
let backEnd: RawBackEnd | undefined;

afterEach(async () => {
  await started?.stop();
  await backEnd?.stop();
  started = backEnd = undefined;
});

describe('startWorkers', () => {
  test('workers whose task type differs from their key → one error for each, before anything is polled', async () => {
    const router = await new FakeRouter().start();
    onTestFinished(() => router.stop());
    const registration = (taskDefName: string) =>
      ({
        create: () => ({ taskDefName, execute: async () => ({ status: 'COMPLETED', outputData: {} }) as const }),
        pools: ['default'],
      }) as const;
    const workers = { count: registration('count'), audit: registration('count'), bill: registration('bil') };
    const starting = startedWorkers({}, { router, workers });
    await expect(starting).rejects.toBeInstanceOf(ConfigError);
    await expect(starting).rejects.toMatchObject({
      problems: [
        'workers/index.ts: create of audit returns a worker with taskDefName "count", so no process would serve audit: return a worker with taskDefName "audit"',
        'workers/index.ts: create of bill returns a worker with taskDefName "bil", so no process would serve bill: return a worker with taskDefName "bill"',
      ],
    });
  });

  test('sends a task of each intake worker to its back end and reports the response', async () => {
    backEnd = await startRawBackEnd();
    started = await startedWorkers({
      'movies.url': `${backEnd.url}/movies`,
      'lmsDW.url': `${backEnd.url}/lms`,
      'adaptor.001.url': `${backEnd.url}/a/001`,
    });
    const { router } = started;
    const ids = [
      router.addTask('movies_intake', inboundOf({ path: '/Up' })),
      router.addTask('lms-dw_intake', inboundOf({ path: '/7/dataSync/' })),
      router.addTask('college-adaptor_intake', inboundOf({ path: '/x', query: '', params: { mis: '001' } })),
    ];
    const results = await Promise.all(ids.map((id) => router.result(id)));
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'COMPLETED',
        outputData: { outbound: { statusCodeValue: 200, body: '{}' } },
      });
    }
    const lines = backEnd.requests.map((request) => request.split('\r\n')[0]).sort();
    expect(lines).toEqual(['GET /a/001/x? HTTP/1.1', 'GET /lms/7/dataSync/ HTTP/1.1', 'GET /movies/Up HTTP/1.1']);
  });

  test('keeps one exchange open for all task types when idle, and repeats it only after its timeout', async () => {
    started = await startedWorkers();
    const { router } = started;
    await pollUntil('a held exchange', () => router.held === 1);
    const exchanges = () => router.calls.filter(({ path }) => path === '/tasks/exchange');
    await pollUntil('a second exchange', () => exchanges().length > 1);
    expect(exchanges()[1]?.wanted).toHaveLength(defaultTaskTypes);
    expect(exchanges().length).toBeLessThanOrEqual(3);
  });

  /** Runs one task with this outcome. Returns the result that the router received and the reported errors. */
  async function reportOf(outcome: TaskOutcome) {
    const create = () => ({ taskDefName: 'count', execute: async () => outcome });
    const errors: unknown[] = [];
    const options = {
      workers: { count: { create, pools: ['default'] } },
      reportError: (error: unknown) => errors.push(error),
    } as const;
    started = await startedWorkers({ 'workers.taskTypes': 'count' }, options);
    return { result: await started.router.result(started.router.addTask('count', {})), errors };
  }

  test.each<[string, TaskOutcome]>([
    ['COMPLETED', { status: 'COMPLETED', outputData: { count: 3n } }],
    ['IN_PROGRESS', { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { count: 3n } }],
  ])('reports %s with a BigInt in the output as a failure, without a stack', async (_label, outcome) => {
    const { result, errors } = await reportOf(outcome);
    expect(result).toMatchObject({ status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: 'the worker failed' });
    expect(result).not.toHaveProperty('logs');
    expect(errors).toHaveLength(1);
  });

  test('serialises an output once and sends it unchanged', async () => {
    let times = 0;
    const rows = { toJSON: () => [(times += 1), '"\n', null] };
    const { result } = await reportOf({
      status: 'COMPLETED',
      outputData: { rows, 'a "name"': 'text', none: undefined },
    });
    expect(times).toBe(1);
    expect(result.outputData).toEqual({
      rows: [1, '"\n', null],
      'a "name"': 'text',
      timing: { backEndMs: expect.any(Number) as number },
    });
  });
});
