// Tests of starting an execution and waiting for its end, with an engine that responds late or not at all.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { cancellationReason } from '#lib/conductor/executions/cancelled.ts';
import { NoExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import { TransientMap } from '#lib/gc/transient-map.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { noRecorder } from '#lib/records/recorder.ts';
import { workflowMetadataOf } from '../../../../plugins/conductor/dispatch/workflow-metadata.ts';
import {
  awaitEnd,
  type ExecutionDependencies,
  startExecution,
} from '../../../../plugins/conductor/execution/executions.ts';

describe('startExecution', () => {
  it('does not wait beyond the response deadline for definitions that only make the execution faster', async () => {
    const never = () => new Promise<never>(() => undefined);
    const told: unknown[] = [];
    const dependencies = {
      engine: { startWorkflow: async () => 'e-1' },
      metadata: { metadataOf: never, taskDef: never },
      wakeUps: { tasksAppeared: (queues: unknown) => told.push(queues) },
      completions: new TransientMap(),
      awaited: new Set(),
      recorder: noRecorder,
      dispatchesDirectly: true,
    } as unknown as ExecutionDependencies;
    const options = { readOnly: true, respondsAsync: false, isKeyed: false, deadlineAt: performance.now() + 30 };
    const started = await startExecution({ name: 'moviesWF', version: 1, input: {} }, options, dependencies);
    expect(started.executionId).toBe('e-1');
    expect(told).toEqual([[]]);
    started.forget();
    expect(dependencies.awaited.size).toBe(0);
  });

  it.each([
    ['does not say whether it has an index', new EngineError('interrupted', 'no response within 2000 ms')],
    ['has no index and Redis does not respond', new NoExecutionIndex()],
  ])('rejects with 503, and starts nothing, when the engine %s', async (_title, error) => {
    const startWorkflow = vi.fn<ExecutionDependencies['engine']['startWorkflow']>();
    const starting = () => Promise.reject(error);
    const dependencies = { engine: { startWorkflow }, recorder: { ...noRecorder, starting } };
    const options = { readOnly: false, respondsAsync: false, isKeyed: false, deadlineAt: performance.now() + 30 };
    const started = startExecution(
      { name: 'college-adaptorWF', version: 2, input: {} },
      options,
      dependencies as unknown as ExecutionDependencies,
    );
    await expect(started).rejects.toMatchObject({ code: 'engine-unavailable', status: 503 });
    expect(startWorkflow).not.toHaveBeenCalled();
  });
});

describe('direct dispatch of the first task', () => {
  const work = { name: 'work', taskReferenceName: 'work_ref', type: 'SIMPLE', inputParameters: {} };
  const taskDef = { retryCount: 0, responseTimeoutSeconds: 22 };

  it.each([
    ['a plain task', {}, {}, ['work:direct-dispatch']],
    ['a task that the engine delays', { startDelay: 2 }, {}, []],
    ['a task that its workflow retries', { retryCount: 1 }, {}, []],
    ['a task that its definition retries', {}, { retryCount: 1 }, []],
    ['a task that must be polled in time', {}, { pollTimeoutSeconds: 5 }, []],
  ])('%s → task domains at the start: $3', async (_title, ofTask, ofDefinition, directly) => {
    const started: StartWorkflowRequest[] = [];
    const dependencies = {
      engine: { startWorkflow: async (request: StartWorkflowRequest) => started.push(request) && 'e-1' },
      metadata: {
        metadataOf: async () => workflowMetadataOf({ name: 'testWF', tasks: [{ ...work, ...ofTask }] }),
        taskDef: async () => ({ ...taskDef, ...ofDefinition }),
      },
      directDispatch: { isPossible: () => true, dispatch: () => () => undefined },
      wakeUps: { tasksAppeared: () => undefined },
      completions: new TransientMap(),
      awaited: new Set(),
      recorder: noRecorder,
      dispatchesDirectly: true,
    } as unknown as ExecutionDependencies;
    const options = { readOnly: true, respondsAsync: false, isKeyed: false, deadlineAt: performance.now() + 60_000 };
    await startExecution({ name: 'testWF', version: 1, input: {} }, options, dependencies);
    expect(Object.entries(started[0]?.taskToDomain ?? {}).map((one) => one.join(':'))).toEqual(directly);
  });
});

describe('awaitEnd', () => {
  it.each([
    ['the rest of the wait and a second more', 5_000, 1_000, 5_000],
    ['a second when the execution ended at the deadline', 20, 20, 1_000],
  ])('gives the engine %s to say why an execution has failed', async (_title, timeoutMs, endsAfterMs, limitMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const limits: number[] = [];
    const ended = { workflowId: 'e-1', status: 'FAILED', output: {} };
    const dependencies = {
      waiters: { waitFor: () => new Promise((resolve) => setTimeout(() => resolve(ended), endsAfterMs)) },
      engine: {
        getExecution: async (_id: string, withinMs: number) => {
          limits.push(withinMs);
          return { ...ended, reasonForIncompletion: 'back-end-timeout: no response' };
        },
      },
      recorder: noRecorder,
    } as unknown as ExecutionDependencies;
    const found = awaitEnd('e-1', { timeoutMs, signals: [] }, dependencies);
    await vi.advanceTimersByTimeAsync(endsAfterMs);
    expect((await found)?.reasonForIncompletion).toBe('back-end-timeout: no response');
    expect(limits).toEqual([limitMs]);
  });

  it('reads the last resume time with the reason; otherwise the execution would count as cancelled', async () => {
    const ended = { workflowId: 'e-1', status: 'TERMINATED', output: {} } as const;
    const whole = { ...ended, reasonForIncompletion: cancellationReason({}), lastRetriedTime: 5 };
    const dependencies = {
      waiters: { waitFor: async () => ended },
      engine: { getExecution: async () => whole },
      recorder: noRecorder,
    } as unknown as ExecutionDependencies;
    const found = await awaitEnd('e-1', { timeoutMs: 1_000, signals: [] }, dependencies);
    expect(found).toEqual(whole);
  });
});
