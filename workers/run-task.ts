// Runs tasks with logging and error handling: every task ends with an outcome, and unexpected errors are reported.

import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { codeOf } from './back-end/back-end-failure.ts';
import { serialiseFields } from './json-text.ts';
import { TaskFailure } from './task-failure.ts';
import type { TaskOutcome, Worker } from './worker.ts';

/** Reports an unexpected error to the error tracker. */
export type ReportError = (error: unknown, fields: Record<string, string>) => void;

/**
 * Wraps a worker so that its `execute` never rejects and its outputs are serialised as JSON. It logs one line for
 * each task.
 */
export function supervise(worker: Worker, { log, reportError }: { log: Logger; reportError: ReportError }): Worker {
  const { taskDefName } = worker;
  const execute = async (task: Task): Promise<TaskOutcome> => {
    const startedAt = performance.now();
    const fields = { taskType: taskDefName, executionId: task.workflowInstanceId, requestId: requestIdOf(task) };
    const end = (outcome: TaskOutcome, details: Record<string, unknown> = {}): TaskOutcome => {
      const ms = Math.round(performance.now() - startedAt);
      const status = statusOf(outcome);
      const level = outcome.status === 'COMPLETED' ? 'info' : 'warn';
      log[level](
        { ...fields, ...(status === undefined ? {} : { status }), ms, outcome: outcome.status, ...details },
        'task',
      );
      return outcome;
    };
    try {
      const outcome = await worker.execute(task);
      const serialised = serialiseOutput(outcome);
      const { waitingFor } = outcome.status === 'IN_PROGRESS' ? outcome.outputData : {};
      end(outcome, waitingFor === undefined ? {} : { reason: waitingFor });
      return serialised;
    } catch (error) {
      if (error instanceof TaskFailure) {
        return end(failed(error.reason), { reason: error.reason, cause: codeOf(error.cause) || undefined });
      }
      reportError(error, fields);
      return end(failed('the worker failed'), {
        ...errorFields(error),
        ...(error instanceof Error && { stack: error.stack }),
      });
    }
  };
  return { taskDefName, execute };
}

/** @throws TypeError when the output cannot be expressed as JSON */
function serialiseOutput(outcome: TaskOutcome): TaskOutcome {
  const { outputData } = outcome;
  return outputData === undefined ? outcome : { ...outcome, outputData: serialiseFields(outputData) };
}

function failed(reasonForIncompletion: string): TaskOutcome {
  return { status: 'FAILED_WITH_TERMINAL_ERROR', reasonForIncompletion };
}

function requestIdOf({ inputData }: Task): string {
  const { requestId, inbound } = (inputData ?? {}) as { requestId?: unknown; inbound?: { requestId?: unknown } | null };
  const id = inbound?.requestId ?? requestId;
  return typeof id === 'string' ? id : '';
}

/** Returns the HTTP status in the output of the task; undefined when there is none. */
function statusOf(outcome: TaskOutcome): unknown {
  if (outcome.status === 'FAILED_WITH_TERMINAL_ERROR') return undefined;
  const { outbound, status } = outcome.outputData as { outbound?: { statusCodeValue?: unknown }; status?: unknown };
  return outbound?.statusCodeValue ?? status;
}
