// Returns a fetched task to the engine's queue when no worker has received it.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { unreceivedReason } from './repeated-delivery.ts';

/**
 * Updates the task to IN_PROGRESS with a callback after 0 seconds, so that the engine puts the task back in its queue
 * for the next poll. The update includes the output that an earlier worker may have reported. The engine ignores the
 * update for a task that has ended. Logs errors and never rejects.
 * @returns false when the engine has not accepted the update
 */
export async function requeueTask(
  task: Task,
  { engine, log }: { engine: Pick<Engine, 'updateTask'>; log: Logger },
): Promise<boolean> {
  const { taskId, workflowInstanceId, taskDefName, outputData } = task;
  try {
    await engine.updateTask({
      ...{ taskId, workflowInstanceId, status: 'IN_PROGRESS', callbackAfterSeconds: 0 },
      reasonForIncompletion: unreceivedReason(task),
      ...(outputData === undefined ? {} : { outputData }),
    });
    return true;
  } catch (error) {
    log.error(
      { taskType: taskDefName, executionId: workflowInstanceId, ...errorFields(error) },
      'could not return a task to the engine: the task waits for its response timeout',
    );
    return false;
  }
}
