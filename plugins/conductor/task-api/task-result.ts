// Validation of task results: rejects fields that the engine trusts but workers must not set.

import type { TaskResult } from '#lib/conductor/types.ts';
import { Problem } from '#lib/problem/problem.ts';

const statuses: ReadonlySet<unknown> = new Set([
  'IN_PROGRESS',
  'COMPLETED',
  'FAILED',
  'FAILED_WITH_TERMINAL_ERROR',
  'CANCELED',
]);
/**
 * Fields that workers must not set, in lower case. SDKs send them empty.
 * - The first makes the engine read the output from any location, including its local files. An endless file stops the
 *   engine, and an execution whose file is missing can never end.
 * - The second links another execution as a sub-workflow.
 * - The third is a second output.
 */
const reservedFields: ReadonlySet<string> = new Set([
  'externaloutputpayloadstoragepath',
  'subworkflowid',
  'outputmessage',
]);

/** The engine logs these fields unescaped: a line break would forge a log line. */
const idFields = ['taskId', 'workflowInstanceId', 'workerId'] as const;
const unsafeInLog = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** The engine's ids have 36 characters. */
const maxIdLength = 256;

/** Parses and validates a task result. @throws Problem `malformed-request` (400) */
export function parseTaskResult(body: Buffer): TaskResult {
  const result = parse(body);
  if (typeof result?.taskId !== 'string' || typeof result.workflowInstanceId !== 'string')
    refuse('A task result must be JSON with taskId, workflowInstanceId and status.');
  const wrongId = idFields.find((name) => isUnsafeId(result[name]));
  if (wrongId !== undefined)
    refuse(`${wrongId} of a task result has control characters or more than ${maxIdLength} characters.`);
  if (!statuses.has(result.status)) refuse(`The status of a task result must be one of ${[...statuses].join(', ')}.`);
  const reserved = Object.entries(result).find(
    ([name, value]) => reservedFields.has(name.toLowerCase()) && value !== null && value !== '',
  );
  if (reserved !== undefined) refuse(`A worker cannot set ${reserved[0]}.`);
  return result;
}

function isUnsafeId(id: unknown): boolean {
  return typeof id === 'string' && (id.length > maxIdLength || unsafeInLog.test(id));
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
