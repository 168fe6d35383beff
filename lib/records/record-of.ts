// Builds execution records from a start request, a polled task or the execution itself.

import { callerOf } from '#lib/conductor/executions/caller.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { StartWorkflowRequest, Task } from '#lib/conductor/types.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import type { NewRecord, RecordedExecution } from './execution-records.ts';

type Input = Readonly<Record<string, unknown>>;

/** Returns the record of an execution that the engine has started for a request. */
export function recordOfStart(executionId: string, request: StartWorkflowRequest): NewRecord {
  const { name: workflow, version, correlationId, input } = request;
  const names = { executionId, workflow, version, correlationId, startedAt: Date.now() };
  return recordFrom(names, input, false);
}

/** Returns the record of a task's execution. A task does not contain the workflow version. */
export function recordOfTask(task: Task): NewRecord {
  const { workflowInstanceId: executionId, workflowType, correlationId, scheduledTime, inputData = {} } = task;
  const names = { executionId, workflow: String(workflowType), correlationId: textOf(correlationId) };
  return recordFrom({ ...names, startedAt: Number(scheduledTime) || Date.now() }, inputData, true);
}

/** Returns the record of an execution that was read from the engine. */
export function recordOfExecution(execution: WholeExecution): NewRecord {
  const { workflowId: executionId, workflowName: workflow, workflowVersion: version, correlationId } = execution;
  const names = { executionId, workflow, version, correlationId, startedAt: execution.startTime };
  return recordFrom(names, execution.input, !hasEnded(execution));
}

interface Names extends Pick<RecordedExecution, 'executionId' | 'workflow' | 'startedAt'> {
  readonly version?: number;
  readonly correlationId: string | undefined;
}

/**
 * Builds a record. If an event has started the execution, the record has no caller, because the request in the input is
 * only a copy from the source execution. The input of such an execution contains the id of the source execution.
 */
function recordFrom({ correlationId, ...names }: Names, input: Input, reopens: boolean): NewRecord {
  const { method, route, clientId, requestId } = input['executionId'] === undefined ? callerOf(input) : {};
  return {
    record: {
      ...names,
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(method === undefined ? {} : { method }),
      ...(route === undefined ? {} : { route }),
      ...(clientId === undefined ? {} : { clientId }),
    },
    reopens,
    // Without an Idempotency-Key, the correlation id is the request id.
    isLookedUp: !isSafeMethod(method) || correlationId !== requestId,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
