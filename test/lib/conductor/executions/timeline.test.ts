// Tests of the timeline of an execution, and of determining its caller from its input or from a row of the index.

import { directDomain } from '#lib/conductor/executions/direct-domain.ts';
import { describe, expect, it } from 'vitest';
import { callerOf, mayBeOf, mayBeOfOtherRoute } from '#lib/conductor/executions/caller.ts';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { timelineOf } from '#lib/conductor/executions/timeline.ts';

const start = 1_700_000_000_000;

function execution(tasks: Partial<ExecutedTask>[], fields: Partial<WholeExecution> = {}): WholeExecution {
  return {
    workflowId: 'id-12345678',
    workflowName: 'college-adaptorWF',
    workflowVersion: 2,
    status: 'COMPLETED',
    startTime: start,
    endTime: start + 500,
    input: {},
    output: {},
    tasks: tasks.map((task, index) => ({
      taskId: String(index),
      taskType: 'x_intake',
      referenceTaskName: 'x_intake',
      status: 'COMPLETED',
      scheduledTime: start + 2,
      ...task,
    })),
    ...fields,
  };
}

describe('timeline', () => {
  it('a task that a worker took: shows how long it waited and how long the worker took', () => {
    const { steps, totalMs } = timelineOf(
      execution([{ startTime: start + 102, endTime: start + 402, pollCount: 1, workerId: 'w-1', domain: '002' }]),
      start + 9_000,
    );
    expect(totalMs).toBe(500);
    expect(steps).toEqual([
      {
        task: 'x_intake',
        type: 'x_intake',
        state: 'COMPLETED',
        attempt: 1,
        polls: 1,
        scheduledAfterMs: 2,
        waitedMs: 100,
        tookMs: 300,
        worker: 'w-1',
        domain: '002',
      },
    ]);
  });

  it('attempts: shown in the order in which they were scheduled; a failed task is named once', () => {
    const { steps, failed } = timelineOf(
      execution([
        { retryCount: 1, scheduledTime: start + 200, endTime: start + 300, status: 'TIMED_OUT' },
        { retryCount: 0, endTime: start + 100, status: 'FAILED', reasonForIncompletion: 'why' },
      ]),
      start,
    );
    expect(steps.map(({ attempt, state, reason }) => [attempt, state, reason])).toEqual([
      [1, 'FAILED', 'why'],
      [2, 'TIMED_OUT', undefined],
    ]);
    expect(failed).toEqual(['x_intake']);
  });

  it('a running execution: shows its duration so far, and what it waits for', () => {
    const running = { status: 'RUNNING', endTime: 0 } as const;
    const at = (task: Partial<ExecutedTask>) => timelineOf(execution([task], running), start + 30_002).waitsFor;
    expect(timelineOf(execution([], running), start + 5_000)).toMatchObject({ totalMs: 5_000, steps: [] });
    expect(at({ status: 'SCHEDULED' })).toBe('a worker to take x_intake (30 s so far)');
    expect(at({ status: 'IN_PROGRESS', startTime: start + 10_002, domain: '002' })).toBe(
      'the result of x_intake in domain 002 (20 s so far)',
    );
    expect(at({ status: 'SCHEDULED', domain: directDomain('002') })).toBe(
      'the result of x_intake in domain 002, dispatched directly 30 s ago',
    );
    expect(
      at({ status: 'SCHEDULED', pollCount: 3, callbackAfterSeconds: 60, updateTime: start + 20_002, startTime: start }),
    ).toBe('the next try of x_intake, 60 s after the last one (10 s ago)');
    expect(at({ status: 'COMPLETED' })).toBeUndefined();
  });

  it('a task that the engine runs itself: shows no wait for a worker', () => {
    const { steps } = timelineOf(execution([{ taskType: 'EVENT', startTime: start + 10, endTime: start + 12 }]), start);
    expect(steps[0]).toMatchObject({ tookMs: 2 });
    expect(steps[0]).not.toHaveProperty('waitedMs');
  });
});

describe('caller', () => {
  it('is read from the unencrypted fields, without the path and the body', () => {
    const inbound = {
      httpMethod: 'PATCH',
      route: 'adaptor',
      clientId: 'demo',
      requestId: 'r-1',
      path: '/persons/1',
      params: { mis: '001' },
      body: 'x',
    };
    expect(callerOf({ inbound })).toEqual({
      method: 'PATCH',
      route: 'adaptor',
      clientId: 'demo',
      requestId: 'r-1',
      college: '001',
    });
    expect(callerOf({ inbound: { params: { mis: '../../a long text' } } })).toEqual({});
    expect(callerOf({ misCode: '002', requestId: 'r-2' })).toEqual({ requestId: 'r-2', college: '002' });
    expect(callerOf({ inbound: null })).toEqual({});
  });

  it('a row of the index, in either format: may belong to a client unless its text names another client', () => {
    expect(mayBeOf('{inbound={clientId=demo, route=movies}}', { clientId: 'demo', route: 'movies' })).toBe(true);
    expect(mayBeOf('{"inbound":{"clientId":"demo"}}', { clientId: 'demo' })).toBe(true);
    expect(mayBeOf('{inbound={clientId=other}}', { clientId: 'demo' })).toBe(false);
    expect(mayBeOf('{inbound={headers={accept=a…', { clientId: 'demo' })).toBe(true);
  });

  it('a row of the index: may belong to another route unless its text certainly names one of the given routes', () => {
    expect(mayBeOfOtherRoute('{inbound={clientId=demo, route=movies}}', ['movies'])).toBe(false);
    expect(mayBeOfOtherRoute('{inbound={clientId=demo, route=movies.v2, body=}}', ['movies.v2'])).toBe(false);
    expect(mayBeOfOtherRoute('{inbound={clientId=demo, route=movies.v2}}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{inbound={headers={x=route=movies}, clientId=demo, route=slow}}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{note=?route=movies}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{"note":"route=movies"}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{"inbound":{"route":"movies.v2"}}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{"inbound":{"route":"movies"}}', ['adaptor', 'movies'])).toBe(false);
    expect(mayBeOfOtherRoute('{"inbound":{"route":"movies"},"note":"route=slow"}', ['slow'])).toBe(true);
    expect(mayBeOfOtherRoute('{misCode=002}', ['movies'])).toBe(true);
    expect(mayBeOfOtherRoute('{inbound={route=movies, headers={accept=a…', ['movies'])).toBe(true);
  });
});
