// Returns a fetched task that no worker received to the engine's queue.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/**
 * Updates the task to IN_PROGRESS with a callback after 0 seconds, so that the next poll returns it (Conductor's task
 * queue). The engine ignores the update for a task that has ended. Logs errors and never rejects.
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
      'could not return a task to the engine: the task waits for its response time-out',
    );
  }
}
