// Prevents a write from being sent when its task may have timed out in the engine, for example after the
// worker process was suspended.

import { isSafeMethod } from '#lib/http/methods.ts';
import { currentTask } from '../observe/current-task.ts';
import type { CallBackEnd } from './call-back-end.ts';

/**
 * Wraps a back-end client so that it does not send a write once its task has expired.
 * @param hasExpired returns true when it is too late to start a write for the task with this id
 */
export function guardWrites(call: CallBackEnd, hasExpired: (taskId: string) => boolean): CallBackEnd {
  return (request) => {
    const taskId = currentTask()?.taskId;
    if (taskId === undefined || isSafeMethod(request.method)) return call(request);
    return call({ ...request, isLate: () => hasExpired(taskId) });
  };
}
