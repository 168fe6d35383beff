// Tests of interventions: what their previews and results say about the worker of a task.

import { describe, expect, it } from 'vitest';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import { directDomain } from '#lib/conductor/executions/direct-domain.ts';
import {
  carryOutIntervention,
  type Intervention,
  previewInterventions,
} from '#lib/conductor/executions/interventions.ts';

/** Returns an engine whose only execution has this task. */
function engineWith(task: Partial<ExecutedTask>): ExecutionApi {
  const intake = { taskType: 'movies_intake', referenceTaskName: 'intake', status: 'SCHEDULED', ...task };
  const execution = { workflowId: 'a', status: 'RUNNING', input: {}, tasks: [intake] } as unknown as WholeExecution;
  return { readWhole: async () => execution, terminate: async () => undefined } as unknown as ExecutionApi;
}

const preview = (intervention: Intervention, task: Partial<ExecutedTask>) =>
  previewInterventions(intervention, 'a', engineWith(task));

describe.each([undefined, '002'])('a scheduled task of the pool %s', (domain) => {
  it('not dispatched directly: no worker has begun it', async () => {
    const task = domain === undefined ? {} : { domain };
    expect(await preview('cancel', task)).toEqual({ kind: 'possible', executionId: 'a' });
    expect(await preview('terminate', task)).toEqual({ kind: 'possible', executionId: 'a' });
  });

  it('dispatched directly: a worker may have begun it, although the engine knows of none', async () => {
    const task = { domain: directDomain(domain), startTime: 0, pollCount: 0 };
    expect(await preview('cancel', task)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('a worker may have begun intake'),
    });
    expect(await preview('terminate', task)).toMatchObject({
      kind: 'possible',
      warning: expect.stringContaining('a worker may have begun intake'),
    });
  });

  it('dispatched directly after the last preview: the result of a cancellation says that a worker may have it', async () => {
    const api = engineWith({});
    const { readWhole } = engineWith({ domain: directDomain(domain), status: 'CANCELED' });
    api.terminate = async () => void (api.readWhole = readWhole);
    expect(await carryOutIntervention('cancel', 'a', { api, reason: '' })).toMatchObject({
      outcome: 'done',
      reason: expect.stringContaining('a worker may have received the task'),
    });
  });
});

it('a task that a worker has polled: a worker has begun it', async () => {
  expect(await preview('cancel', { status: 'IN_PROGRESS', pollCount: 1, startTime: 1 })).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('a worker has begun intake'),
  });
});

it.each([
  ['unreachable', 'not tried'],
  ['interrupted', 'unknown'],
  ['refused', 'refused'],
] as const)('an engine that fails with the kind %s: the outcome is %s', async (kind, outcome) => {
  const api = engineWith({});
  api.terminate = async () => {
    throw new EngineError(kind, 'the reason');
  };
  const result = await carryOutIntervention('terminate', 'a', { api, reason: '' });
  expect(result).toEqual({ executionId: 'a', outcome, reason: 'the reason' });
});
