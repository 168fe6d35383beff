// Tests of several executions of one Idempotency-Key: what happens to the execution whose task was polled.

import { describe, expect, it } from 'vitest';
import type { ExecutedTask, WholeExecution } from '#lib/conductor/executions/execution.ts';
import { isSuperseded, superseded } from '#lib/conductor/executions/superseded.ts';
import type { Task } from '#lib/conductor/types.ts';
import { nameOfKey } from '../../../../plugins/conductor/idempotency/idempotency-key.ts';
import { isKeyed, readSoleExecution } from '../../../../plugins/conductor/idempotency/sole-execution.ts';

const correlationId = nameOfKey('demo', 'key');
const polled = { status: 'IN_PROGRESS', pollCount: 1, startTime: 5 };
const waiting = { status: 'SCHEDULED', pollCount: 0, startTime: 0 };

const execution = (workflowId: string, task: object, more: object = {}): WholeExecution => ({
  ...{ workflowId, workflowName: 'w', workflowVersion: 1, status: 'RUNNING', startTime: 1, endTime: 0, correlationId },
  ...{ input: { inbound: { clientId: 'demo' } }, output: {}, tasks: [task as ExecutedTask] },
  ...more,
});
const own = execution('own', polled);

/** Reads the sole execution; returns the resulting state of `own`, and the terminated executions. */
async function look(...others: WholeExecution[]) {
  const terminated: string[] = [];
  const task = { workflowInstanceId: 'own', workflowType: 'w', correlationId } as unknown as Task;
  const found = await readSoleExecution(task, {
    correlated: async () => [own, ...others],
    terminate: async (id, reason) => void terminated.push(`${id}: ${reason}`),
  });
  return { status: found?.status, terminated };
}

describe('the execution whose keyed task was polled', () => {
  it.each<[string, WholeExecution[]]>([
    ['is alone', []],
    ['was followed by one that no worker has taken', [execution('b', waiting)]],
    ['was preceded by one that was superseded', [execution('b', polled, { reasonForIncompletion: superseded })]],
    ["shares its correlation id with another client's execution", [execution('b', polled, { input: { inbound: {} } })]],
  ])('%s: is carried out', async (_title, others) => {
    expect(await look(...others)).toEqual({ status: 'RUNNING', terminated: [] });
  });

  it.each<[string, WholeExecution]>([
    ['exists beside one that a worker has taken', execution('b', polled)],
    ['exists beside a completed one', execution('b', { ...polled, status: 'COMPLETED' }, { status: 'COMPLETED' })],
    ['exists beside a timed-out one', execution('b', { ...polled, status: 'TIMED_OUT' }, { status: 'TIMED_OUT' })],
  ])('%s: is terminated', async (_title, other) => {
    expect(await look(other)).toEqual({ status: 'TERMINATED', terminated: [`own: ${superseded}`] });
  });

  it('is not found: returns undefined', async () => {
    const task = { workflowInstanceId: 'lost', workflowType: 'w', correlationId } as unknown as Task;
    const api = { correlated: async () => [own], terminate: async () => undefined };
    expect(await readSoleExecution(task, api)).toBeUndefined();
  });
});

it('a request id is not a key, whatever its value', () => {
  const task = (id?: string) => ({ correlationId: id }) as unknown as Task;
  expect([correlationId, 'idempotency-1', 'op-1', undefined].map((id) => isKeyed(task(id)))).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(isSuperseded({})).toBe(false);
});
