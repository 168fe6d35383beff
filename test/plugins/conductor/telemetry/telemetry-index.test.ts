// Tests that tasks and results of workers are matched to the executions that clients wait for, in any order of events.

import type { Request } from 'express';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import type { RequestContext } from '../../../../gateway/plugin-api/plugin-api.ts';
import { setContext } from '../../../../gateway/plugin-api/request-context.ts';
import { createEngineCallMetrics } from '../../../../plugins/conductor/telemetry/engine-calls.ts';
import { EventTraces } from '../../../../plugins/conductor/telemetry/event-traces.ts';
import { createExecutionMetrics } from '../../../../plugins/conductor/telemetry/execution-metrics.ts';
import { TelemetryIndex } from '../../../../plugins/conductor/telemetry/telemetry-index.ts';
import { keepingTracer } from '../../../lib/telemetry/tracing/keeping-tracer.ts';

let registry: Registry;
let index: TelemetryIndex;
beforeEach(() => {
  registry = new Registry();
  index = new TelemetryIndex({ metrics: createExecutionMetrics(registry), tracer: undefined, timingScope: 'timing' });
});

const pinned = { name: 'moviesWF', version: 1 };
const task = (workflowInstanceId: string, inputData = {}): Task => ({
  taskId: `${workflowInstanceId}.t`,
  taskDefName: 'movies_intake',
  taskType: 'movies_intake',
  referenceTaskName: 't',
  workflowInstanceId,
  inputData,
});
const result = (workflowInstanceId: string, backEndMs?: unknown): TaskResult => ({
  taskId: `${workflowInstanceId}.t`,
  workflowInstanceId,
  status: 'COMPLETED',
  outputData: { outbound: {}, timing: { backEndMs } },
});

function newRequest(scopes: string[] = []): Request {
  const request = { headers: {}, method: 'GET' } as Request;
  const context: RequestContext = {
    requestId: 'r',
    clientAddress: '192.0.2.1',
    receivedAt: performance.now(),
    route: 'movies',
    scopes: new Set(scopes),
  };
  setContext(request, context);
  return request;
}

const read = async (name: string) => (await registry.getSingleMetric(name)!.get()).values;
const stagesSeen = async () =>
  (await read('router_request_stage_seconds'))
    .filter((value) => 'metricName' in value && value.metricName === 'router_request_stage_seconds_count')
    .map(({ labels }) => (labels as Record<string, string>)['stage'])
    .toSorted();

function run(
  request: Request,
  events: (id: string) => void,
  before: (id: string) => void = () => undefined,
): string | undefined {
  const telemetry = index.begin(request, pinned);
  telemetry.queued();
  telemetry.admitted();
  telemetry.starting();
  before('e-1');
  index.started('e-1', telemetry);
  events('e-1');
  index.forget('e-1', telemetry);
  telemetry.ended(true, 'e-1');
  return telemetry.responds('answered', 'e-1');
}

describe('an execution', () => {
  it('whose task is reported: its stages are observed once, and its end is counted by workflow', async () => {
    const times = run(newRequest(['timing']), (id) => {
      index.handedOut(task(id));
      index.reported(result(id, 0.0001));
    });
    expect(await stagesSeen()).toEqual(expect.arrayContaining(['back_end', 'engine', 'router', 'worker']));
    expect(await read('router_executions_total')).toEqual([
      { labels: { workflow: 'moviesWF', version: 1, outcome: 'answered' }, value: 1 },
    ]);
    expect(times).toMatch(/^router;dur=.*, total;dur=[\d.]+$/);
  });

  it('whose task is reported before the response to the start arrives: its stages are observed', async () => {
    const early = (id: string) => {
      index.handedOut(task(id));
      index.reported(result(id, 0));
    };
    run(newRequest(), () => undefined, early);
    expect(await stagesSeen()).toContain('worker');
    expect(await stagesSeen()).not.toContain('elsewhere');
  });

  it.each([
    ['after', true],
    ['before', false],
  ])(
    'whose worker extends the lease of the task %s the response to the start: the worker stage continues',
    async (_title, isKnown) => {
      const handOutAndExtend = (id: string) => {
        index.handedOut(task(id));
        index.reported({ taskId: `${id}.t`, workflowInstanceId: id, status: 'IN_PROGRESS', extendLease: true });
      };
      const events = (id: string) => {
        if (isKnown) handOutAndExtend(id);
        index.reported(result(id, 0.0001));
      };
      run(newRequest(), events, isKnown ? undefined : handOutAndExtend);
      expect(await stagesSeen()).toContain('back_end');
    },
  );

  it('whose task is handed out by another router: the wait counts as elsewhere', async () => {
    run(newRequest(), () => undefined);
    expect(await stagesSeen()).toContain('elsewhere');
  });

  it.each([
    ['a string', '12'],
    ['negative', -1],
    ['absent', undefined],
    ['null', null],
  ])('has no back-end stage when the reported time is %s', async (_title, backEndMs) => {
    run(newRequest(), (id) => {
      index.handedOut(task(id));
      index.reported(result(id, backEndMs));
    });
    expect(await stagesSeen()).not.toContain('back_end');
  });

  it('a client without the scope gets no Server-Timing', () => {
    expect(run(newRequest(['other']), () => undefined)).toBeUndefined();
  });

  it('a start that fails is counted by its problem, without stages', async () => {
    const telemetry = index.begin(newRequest(), pinned);
    telemetry.starting();
    telemetry.failed('engine-unavailable');
    expect(await read('router_executions_total')).toMatchObject([
      { labels: { outcome: 'engine-unavailable' }, value: 1 },
    ]);
    expect(await stagesSeen()).toEqual([]);
  });

  it('a start that fails while tracing is on: its spans end, and there is no span for a result', () => {
    const { tracer, written } = keepingTracer();
    const traced = new TelemetryIndex({
      metrics: createExecutionMetrics(new Registry()),
      tracer,
      timingScope: undefined,
    });
    const telemetry = traced.begin(newRequest(), pinned);
    telemetry.starting();
    telemetry.failed('engine-unavailable');
    expect(written.map(({ name, end }) => [name, end?.error])).toEqual([
      ['GET movies', undefined],
      ['execute moviesWF', undefined],
      ['start moviesWF', 'engine-unavailable'],
    ]);
    expect(written.filter(({ end }) => end === undefined).map(({ name }) => name)).toEqual(['GET movies']);
  });

  it('thousands of tasks without a waiting client: the index stays bounded', () => {
    for (let other = 0; other < 3_000; other++) index.handedOut(task(`other-${other}`));
    run(newRequest(), (id) => index.handedOut(task(id)));
    // The oldest task is forgotten and counts as one that passed through another router.
    expect(() => index.reported(result('other-0', 1))).not.toThrow();
  });
});

describe('the trace of an execution that an event started', () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const own = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  it.each([
    ['whose source execution is known gets the trace of that execution', { sourceExecutionId: 'e-1' }, traceparent],
    ['whose source execution is unknown gets no trace', { sourceExecutionId: 'e-2' }, undefined],
    ['that has a trace keeps it', { sourceExecutionId: 'e-1', traceparent: own }, own],
    ['without a source execution gets no trace', { inbound: {} }, undefined],
    ['whose source is not an id gets no trace', { sourceExecutionId: 7 }, undefined],
  ])('a task %s', (_title, inputData, expected) => {
    const traces = new EventTraces();
    traces.remember('e-1', traceparent);
    const given = task('x', inputData);
    expect(traces.withTrace(given).inputData).toEqual(
      expected === undefined ? inputData : { ...inputData, traceparent: expected },
    );
    expect(given.inputData).toEqual(inputData);
  });

  it('is forgotten after thousands of others', () => {
    const traces = new EventTraces();
    for (let index = 0; index < 6_000; index++) traces.remember(`e-${index}`, traceparent);
    expect(traces.withTrace(task('x', { sourceExecutionId: 'e-0' })).inputData).not.toHaveProperty('traceparent');
    expect(traces.withTrace(task('x', { sourceExecutionId: 'e-5999' })).inputData).toHaveProperty('traceparent');
  });
});

describe('calls to the engine', () => {
  it.each([
    ['POST', '/api/workflow', 200, 'start', undefined],
    ['POST', '/api/workflow', 'unreachable', 'start', 'unreachable'],
    ['POST', '/api/tasks', 500, 'report', 'answered-5xx'],
    ['POST', '/api/tasks/e/t/COMPLETED?workerid=w', 200, 'report', undefined],
    ['POST', '/api/tasks/queue/requeue/x', 200, 'other', undefined],
    ['GET', '/api/tasks/poll/batch/x?count=1', 'interrupted', 'poll', 'interrupted'],
    ['GET', '/api/workflow/e/status?includeOutput=true', 404, 'status', undefined],
    ['GET', '/api/workflow/e?includeTasks=false', 200, 'other', undefined],
    ['GET', '/health', 503, 'other', 'answered-5xx'],
  ] as const)('%s %s, %s → %s %s', async (method, path, outcome, call, error) => {
    const observe = createEngineCallMetrics(registry);
    observe({ request: { method, path }, startedAt: 0, ms: 3, outcome });
    const seconds = await read('router_engine_call_seconds');
    expect(seconds.map(({ labels }) => (labels as Record<string, unknown>)['call'])).toContain(call);
    expect(await read('router_engine_errors_total')).toEqual(
      error === undefined ? [] : [{ labels: { call, error }, value: 1 }],
    );
  });
});
