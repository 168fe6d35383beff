// Tests of starting an execution: how long a start may take when the engine stops responding after it.

import { describe, expect, it } from 'vitest';
import { TransientMap } from '#lib/gc/transient-map.ts';
import { noRecorder } from '#lib/records/recorder.ts';
import { type ExecutionDependencies, startExecution } from '../../../../plugins/conductor/execution/executions.ts';

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
});
