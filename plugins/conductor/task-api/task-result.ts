// Validates task results and rejects fields that the engine trusts but workers must not set.

import type { TaskResult } from '#lib/conductor/types.ts';
import { Problem } from '#lib/problem/problem.ts';
import { problemOfMembers, toInteger } from './result-members.ts';
import { isUnsafe, maxIdLength } from './worker-names.ts';

const statuses: ReadonlySet<unknown> = new Set([
  'IN_PROGRESS',
  'COMPLETED',
  'FAILED',
  'FAILED_WITH_TERMINAL_ERROR',
  'CANCELED',
]);
/**
 * Fields that workers must not set, in lower case. SDKs send them empty.
 * - `externalOutputPayloadStoragePath` makes the engine read the output from any location, including its local files.
 *   An endless file stops the engine, and an execution whose file is missing can never end.
 * - `subWorkflowId` links another execution as a sub-workflow.
 * - `outputMessage` is a second output.
 */
const reservedFields: ReadonlySet<string> = new Set([
  'externaloutputpayloadstoragepath',
  'subworkflowid',
  'outputmessage',
]);

const idFields = ['taskId', 'workflowInstanceId', 'workerId'] as const;

/**
 * Parses and validates a task result.
 * @returns the result, with its worker id, reason and delay converted as the engine would convert them
 * @throws Problem `malformed-request` (400)
 */
export function parseTaskResult(body: Buffer): TaskResult {
  const result = parse(body);
  if (typeof result?.taskId !== 'string' || typeof result.workflowInstanceId !== 'string')
    refuse('A task result must be JSON with taskId, workflowInstanceId and status.');
  const problem = problemOfMembers(result);
  if (problem !== undefined) refuse(problem);
  const wrongId = idFields.find((name) => result[name] != null && isUnsafe(String(result[name])));
  if (wrongId !== undefined)
    refuse(`${wrongId} of a task result has control characters or more than ${maxIdLength} characters.`);
  // The engine ignores the status of a lease extension, and Conductor's Python SDK sends none.
  const hasStatus = statuses.has(result.status) || (result.extendLease === true && result.status == null);
  if (!hasStatus) refuse(`The status of a task result must be one of ${[...statuses].join(', ')}.`);
  const reserved = Object.entries(result).find(
    ([name, value]) => reservedFields.has(name.toLowerCase()) && value !== null && value !== '',
  );
  if (reserved !== undefined) refuse(`A worker cannot set ${reserved[0]}.`);
  return convert(result);
}

/** Converts values to the types of {@link TaskResult}, as the engine does. */
function convert(result: TaskResult): TaskResult {
  const { workerId, reasonForIncompletion: reason, callbackAfterSeconds: seconds } = result;
  return {
    ...result,
    ...(workerId == null ? {} : { workerId: String(workerId) }),
    ...(reason == null ? {} : { reasonForIncompletion: String(reason) }),
    ...(seconds == null ? {} : { callbackAfterSeconds: toInteger(seconds) }),
  };
}

function parse(body: Buffer): TaskResult | null {
  try {
    return JSON.parse(body.toString('utf8')) as TaskResult | null;
  } catch {
    return null;
  }
}

function refuse(detail: string): never {
  throw new Problem('malformed-request', { detail });
}
