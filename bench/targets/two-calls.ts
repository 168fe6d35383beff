// A target that makes the router's two calls for a read: the start, and the result by reference name, without a poll or
// a status call.

import { floorWorkflow } from '../programs/definitions.ts';
import { startBody, taskOutput } from './execution.ts';
import type { HttpClient } from './http-client.ts';
import type { Target } from './target.ts';

const start = { method: 'POST', path: '/api/workflow', body: startBody(floorWorkflow) } as const;
const body = JSON.stringify(taskOutput);

/** @param engine client of the engine */
export function createTwoCalls(name: string, engine: HttpClient): Target {
  return {
    name,
    text: 'start and result, from one process',
    usesEngine: true,
    async request() {
      const executionId = await engine.text(start);
      const path = `/api/tasks/${executionId}/${floorWorkflow.task}/COMPLETED?workerid=bench`;
      await engine.text({ method: 'POST', path, body });
    },
  };
}
