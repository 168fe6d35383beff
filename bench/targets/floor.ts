// A target that makes the four engine calls of an execution from this process, without pauses: start, poll, update and
// status.

import type { Task } from '#lib/conductor/types.ts';
import { floorWorkflow } from '../programs/definitions.ts';
import { type Ended, expectResponse, startBody, statusPath, taskOutput } from './execution.ts';
import type { HttpClient } from './http-client.ts';
import type { Target } from './target.ts';

const start = { method: 'POST', path: '/api/workflow', body: startBody(floorWorkflow) } as const;
const poll = { path: `/api/tasks/poll/batch/${floorWorkflow.task}?count=1&timeout=0&workerid=bench` } as const;

/** @param engine client of the engine */
export function createFloor(engine: HttpClient): Target {
  return {
    name: 'floor',
    text: 'the four calls to the engine, from one process',
    usesEngine: true,
    async request() {
      await engine.text(start);
      // With several requests in flight, the task may belong to another request; each request still makes four calls.
      const executionId = await completeOne(engine);
      expectResponse(await engine.json<Ended>({ path: statusPath(executionId) }));
    },
  };
}

/**
 * Takes a task, completes it and returns its execution id. Each start schedules a task, so an empty poll is repeated.
 */
async function completeOne(engine: HttpClient): Promise<string> {
  for (;;) {
    const [task] = await engine.json<Task[]>(poll);
    if (task === undefined) continue;
    const { taskId, workflowInstanceId } = task;
    const result = { taskId, workflowInstanceId, status: 'COMPLETED', workerId: 'bench', outputData: taskOutput };
    await engine.text({ method: 'POST', path: '/api/tasks', body: JSON.stringify(result) });
    return workflowInstanceId;
  }
}
