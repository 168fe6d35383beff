// Gives a fetched task that no worker got back to the engine.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/**
 * In the engine's words: in progress, to be called back at once, so that the next poll gets it. The engine ignores this
 * for a task that it has given up. Never rejects.
 */
export async function requeueTask(
  { taskId, workflowInstanceId, taskDefName }: Task,
  { engine, log }: { engine: Pick<Engine, 'updateTask'>; log: Logger },
): Promise<void> {
  try {
    await engine.updateTask({ taskId, workflowInstanceId, status: 'IN_PROGRESS', callbackAfterSeconds: 0 });
  } catch (error) {
    log.error(
      { taskType: taskDefName, executionId: workflowInstanceId, ...errorFields(error) },
      'a task waits for its response time-out',
    );
  }
}
