// Keeps a worker that was suspended from sending a write whose task the engine may have given up.

import { currentTask } from '../observe/current-task.ts';
import { type CallBackEnd, isRead } from './call-back-end.ts';

/**
 * The same caller; a write is refused once its task has expired.
 * @param hasExpired tells of a task, by its id, whether it is too late to begin a write for it
 */
export function guardWrites(call: CallBackEnd, hasExpired: (taskId: string) => boolean): CallBackEnd {
  return (request) => {
    const taskId = currentTask()?.taskId;
    if (taskId === undefined || isRead(request.method)) return call(request);
    return call({ ...request, isLate: () => hasExpired(taskId) });
  };
}
