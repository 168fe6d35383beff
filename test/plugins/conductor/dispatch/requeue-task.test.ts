// Tests that a task is returned to the engine when no worker received it; when the engine is unavailable, the log says
// what happens to the task.

import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Task, TaskResult } from '#lib/conductor/types.ts';
import { requeueTask } from '../../../../plugins/conductor/dispatch/requeue-task.ts';

const task = { taskId: 't-1', workflowInstanceId: 'e-1', taskDefName: 'intake' } as Task;

it('a returned task is put back into the queue at once', async () => {
  const updates: TaskResult[] = [];
  const engine = { updateTask: async (update: TaskResult) => void updates.push(update) };
  const log = pino({ level: 'silent' });
  await requeueTask(task, { engine, log });
  await requeueTask({ ...task, pollCount: 3, outputData: { step: 1 } }, { engine, log });
  const update = { taskId: 't-1', workflowInstanceId: 'e-1', status: 'IN_PROGRESS', callbackAfterSeconds: 0 };
  expect(updates).toEqual([
    { ...update, reasonForIncompletion: 'no worker received the task after poll 1' },
    { ...update, reasonForIncompletion: 'no worker received the task after poll 3', outputData: { step: 1 } },
  ]);
});

it('logs an error, and does not reject, when the engine does not take a task back', async () => {
  const sink = new PassThrough();
  const engine = { updateTask: () => Promise.reject(new Error('away')) };
  await requeueTask(task, { engine, log: pino(sink) });
  expect(JSON.parse(String(sink.read()))).toMatchObject({
    ...{ level: 50, taskType: 'intake', executionId: 'e-1', error: 'away' },
    msg: 'could not return a task to the engine: the task waits for its response timeout',
  });
});
