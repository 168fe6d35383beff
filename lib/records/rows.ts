// Converts records and executions to rows of an index, and converts queries to ranges of the records.

import type { ExecutionSummary, WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionQuery, Order } from '#lib/conductor/executions/execution-index.ts';
import { longestString } from '#lib/conductor/executions/engine-index.ts';
import { openStatuses } from '#lib/conductor/executions/has-ended.ts';
import { cutMark } from '#lib/conductor/shorten-strings.ts';
import type { RecordedExecution, RecordRange, RecordSet } from './execution-records.ts';

/** Returns the sorted set to read for a query. */
export function setOf({ statuses, endedAfter, endedBefore }: ExecutionQuery, order: Order): RecordSet {
  if (statuses?.every((status) => openStatuses.includes(status)) === true) return 'open';
  return order === 'first-ended' || endedAfter !== undefined || endedBefore !== undefined ? 'ended' : 'started';
}

/** Returns the bounds that a query places on the times in this sorted set. */
export function rangeOf(query: ExecutionQuery, set: RecordSet): Pick<RecordRange, 'after' | 'before'> {
  return set === 'ended'
    ? { after: query.endedAfter, before: query.endedBefore }
    : { after: query.startedAfter, before: query.startedBefore };
}

/**
 * Returns whether a record may match a query. This checks all conditions except the end times and the correlation ids.
 * A record without a status matches every open status.
 */
export function mayMatch(
  { workflow, status, startedAt }: RecordedExecution,
  { workflowType, statuses, startedAfter = 0, startedBefore = Number.POSITIVE_INFINITY }: ExecutionQuery,
): boolean {
  if (startedAt <= startedAfter || startedAt >= startedBefore) return false;
  const possible = status === undefined ? openStatuses : [status];
  if (statuses !== undefined && !possible.some((each) => statuses.includes(each))) return false;
  if (workflowType === undefined) return true;
  return workflowType.endsWith('*') ? workflow.startsWith(workflowType.slice(0, -1)) : workflow === workflowType;
}

/**
 * Returns the index row for a record. Its input contains only the fields that are never encrypted, and its output only
 * the truncation mark.
 */
export function toSummary(record: RecordedExecution): ExecutionSummary {
  const { executionId, workflow, version = 0, correlationId, status = 'RUNNING', startedAt, endedAt } = record;
  const { method: httpMethod, route, clientId } = record;
  return {
    workflowId: executionId,
    workflowType: workflow,
    version,
    ...(correlationId === undefined ? {} : { correlationId }),
    status,
    startTime: new Date(startedAt).toISOString(),
    ...(endedAt === undefined ? {} : { endTime: new Date(endedAt).toISOString() }),
    input: JSON.stringify({ inbound: { httpMethod, route, clientId } }),
    output: cutMark,
  };
}

/** Returns the index row for an execution. */
export function summaryOf(execution: WholeExecution): ExecutionSummary {
  const { workflowId, workflowName, workflowVersion, status, startTime, endTime, correlationId } = execution;
  const { reasonForIncompletion } = execution;
  return {
    workflowId,
    workflowType: workflowName,
    version: workflowVersion,
    ...(correlationId === undefined ? {} : { correlationId }),
    status,
    startTime: new Date(startTime).toISOString(),
    ...(endTime > 0 ? { endTime: new Date(endTime).toISOString() } : {}),
    input: cut(JSON.stringify(execution.input)),
    output: cut(JSON.stringify(execution.output)),
    ...(reasonForIncompletion === undefined ? {} : { reasonForIncompletion }),
  };
}

/** Compares two executions by start time, to sort them oldest first. */
export function compareByStart(one: WholeExecution, other: WholeExecution): number {
  return one.startTime - other.startTime;
}

function cut(text = '{}'): string {
  return text.length <= longestString ? text : text.slice(0, longestString) + cutMark;
}
