// Tests of task telemetry: the duration of back-end calls, spans, and the trace context sent to the back end.

import { describe, expect, it } from 'vitest';
import type { Task } from '#lib/conductor/types.ts';
import type { Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { BackEndRequest } from '../../../workers/back-end/call-back-end.ts';
import { withCallTelemetry } from '../../../workers/observe/observe-calls.ts';
import { withTaskTelemetry } from '../../../workers/observe/observe-task.ts';
import { CodedFailure } from '../../../workers/task-failure.ts';
import type { TaskOutcome } from '../../../workers/worker.ts';
import { keepingTracer } from '../../lib/telemetry/tracing/keeping-tracer.ts';

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const call: BackEndRequest = {
  base: 'http://back-end.example:81/x',
  method: 'GET',
  path: '/p/marker',
  headers: {},
  body: Buffer.alloc(0),
};
const task = (inputData: Record<string, unknown> = {}) =>
  ({ taskId: 't', workflowInstanceId: 'e-1', inputData }) as unknown as Task;
const answer = { status: 200, headers: {}, body: Buffer.alloc(0) };

/** Runs a task that makes `calls` calls. Returns its outcome and the requests that the back end received. */
async function run(
  inputData: Record<string, unknown>,
  options: { tracer?: Tracer; calls?: number; fail?: Error; outcome?: TaskOutcome } = {},
) {
  const { tracer, calls = 1, fail, outcome = { status: 'COMPLETED', outputData: { outbound: {} } } } = options;
  const sent: BackEndRequest[] = [];
  const callBackEnd = withCallTelemetry(async (request) => {
    sent.push(request);
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (fail !== undefined) throw fail;
    return answer;
  });
  const execute = async () => {
    for (let made = 0; made < calls; made++) await callBackEnd(call).catch(() => undefined);
    return outcome;
  };
  const ended = await withTaskTelemetry({ taskDefName: 'x_intake', execute }, tracer).execute(task(inputData));
  return { ended, sent };
}

describe('a task', () => {
  it('outputs the total time of its calls in milliseconds, with at most one decimal', async () => {
    const { ended } = await run({}, { calls: 2 });
    const { timing } = (ended as unknown as { outputData: { timing: { backEndMs: number } } }).outputData;
    expect(timing.backEndMs).toBeGreaterThanOrEqual(38);
    expect(String(timing.backEndMs)).toMatch(/^\d+(\.\d)?$/);
    expect(ended).toMatchObject({ status: 'COMPLETED', outputData: { outbound: {} } });
  });

  it('outputs the total time even if it fails, but not while it is in progress', async () => {
    const failed = await run({}, { outcome: { status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion: 'r' } });
    expect(failed.ended).toMatchObject({
      reasonForIncompletion: 'r',
      outputData: { timing: { backEndMs: expect.any(Number) } },
    });
    const again: TaskOutcome = { status: 'IN_PROGRESS', callbackAfterSeconds: 1, outputData: { waitingFor: 'MDM' } };
    expect((await run({}, { outcome: again })).ended).toEqual(again);
  });

  it('has its own total time and trace while another task runs', async () => {
    const [one, two] = await Promise.all([run({ traceparent }, { calls: 3 }), run({}, { calls: 1 })]);
    const msOf = ({ ended }: typeof one) =>
      (ended as unknown as { outputData: { timing: { backEndMs: number } } }).outputData.timing.backEndMs;
    expect(msOf(one)).toBeGreaterThan(msOf(two) + 20);
    expect(two.sent[0]?.headers).toEqual({});
  });
});

describe('the trace context sent to the back end by a process that sends no spans', () => {
  it.each([
    ['is that of the request', { inbound: { traceparent } }, traceparent],
    ['is that of the request, even if it is encrypted', { inbound: { sealed: 'x', traceparent } }, traceparent],
    ['is that in the input of the task', { traceparent }, traceparent],
    ['is absent when the task has none', { inbound: {} }, undefined],
    ['is absent when it is not valid', { inbound: { traceparent: 'x\r\ny: z' } }, undefined],
    ['is absent when it is null, as the engine stores it', { traceparent: null, inbound: null }, undefined],
  ])('%s', async (_title, inputData, expected) => {
    const { sent } = await run(inputData);
    expect(sent[0]?.headers['traceparent']).toBe(expected);
  });
});

describe('spans', () => {
  it('nest as request, task and call, and the back end receives the trace context of the call', async () => {
    const { tracer, written } = keepingTracer();
    const { sent } = await run({ inbound: { traceparent } }, { tracer });
    expect(written.map(({ name, options }) => [name, options.kind, options.parent])).toEqual([
      ['process x_intake', 'consumer', traceparent],
      ['GET', 'client', undefined],
    ]);
    expect(sent[0]?.headers['traceparent']).toBe('of GET');
    expect(written[1]).toMatchObject({
      options: { attributes: { 'server.address': 'back-end.example', 'server.port': 81 } },
      end: { attributes: { 'http.response.status_code': 200 } },
    });
    expect(JSON.stringify(written)).not.toContain('marker');
  });

  it('of a failed call have the code of the failure, not its message', async () => {
    const { tracer, written } = keepingTracer();
    await run({}, { tracer, fail: new CodedFailure('back-end-timeout', 'marker text') });
    await run({}, { tracer, fail: new Error('marker error') });
    expect(written.filter(({ name }) => name === 'GET').map(({ end }) => end?.error)).toEqual([
      'back-end-timeout',
      'failed',
    ]);
    expect(JSON.stringify(written)).not.toContain('marker');
  });

  it('are not created for a call outside a task, which is passed on unchanged', async () => {
    let seen: BackEndRequest | undefined;
    await withCallTelemetry(async (request) => {
      seen = request;
      return answer;
    })(call);
    expect(seen).toBe(call);
  });
});
