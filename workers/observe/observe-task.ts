// Telemetry of tasks: creates a consumer span, and adds the duration of back-end calls to the output of the task.

import type { Task } from '#lib/conductor/types.ts';
import { traceparentOf } from '#lib/envelope/traceparent.ts';
import type { Span, Tracer } from '#lib/telemetry/tracing/tracer.ts';
import type { TaskOutcome, Worker } from '../worker.ts';
import { runInTaskScope } from './current-task.ts';

/**
 * Wraps a worker with telemetry.
 * @param worker a worker whose `execute` never rejects
 * @param tracer undefined while tracing is off
 */
export function withTaskTelemetry(worker: Worker, tracer: Tracer | undefined): Worker {
  const { taskDefName } = worker;
  const execute = async (task: Task): Promise<TaskOutcome> => {
    const traceparent = traceparentOf(task.inputData);
    const span = tracer && startSpan(tracer, task, { taskDefName, traceparent });
    const scope = { taskId: task.taskId, span, traceparent, backEndMs: 0 };
    const outcome = await runInTaskScope(scope, () => worker.execute(task));
    endSpan(span, outcome);
    return withTiming(outcome, scope.backEndMs);
  };
  return { taskDefName, execute };
}

function startSpan(
  tracer: Tracer,
  task: Task,
  { taskDefName, traceparent }: { taskDefName: string; traceparent: string | undefined },
): Span {
  return tracer.start(`process ${taskDefName}`, {
    kind: 'consumer',
    parent: traceparent,
    attributes: { 'conductor.task_type': taskDefName, 'conductor.execution_id': task.workflowInstanceId },
  });
}

function endSpan(span: Span | undefined, { status }: TaskOutcome): void {
  const error = status === 'FAILED_WITH_TERMINAL_ERROR' ? status : undefined;
  span?.end({ attributes: { 'conductor.task_status': status }, error });
}

/** Adds `timing` to the output. A task in progress gets this field when it ends. */
function withTiming(outcome: TaskOutcome, backEndMs: number): TaskOutcome {
  if (outcome.status === 'IN_PROGRESS') return outcome;
  // Rounded to tenths of a millisecond: further digits carry no information.
  const timing = { backEndMs: Math.round(backEndMs * 10) / 10 };
  return { ...outcome, outputData: { ...outcome.outputData, timing } };
}
