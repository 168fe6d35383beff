// A worker's result, looked at before the engine gets it: the engine believes more than a worker may say.

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
 * Lower case. The first has the engine read the output from wherever a worker says, files of its own machine included: it
 * ends at one without end, and can never finish an execution whose file is missing. The others name another execution
 * as part of this one, and bring a second output. SDKs send them empty.
 */
const notForWorkers: ReadonlySet<string> = new Set([
  'externaloutputpayloadstoragepath',
  'subworkflowid',
  'outputmessage',
]);

/** The engine writes these into its log as they are: a line break would forge a line there. */
const idFields = ['taskId', 'workflowInstanceId', 'workerId'] as const;
const unsafeInLog = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** The engine's own ids have 36 characters. */
const maxIdLength = 256;

/** @throws Problem `malformed-request` (400) */
export function parseTaskResult(body: Buffer): TaskResult {
  const result = parse(body);
  if (typeof result?.taskId !== 'string' || typeof result.workflowInstanceId !== 'string')
    refuse('A task result is JSON with taskId, workflowInstanceId and status.');
  const wrongId = idFields.find((name) => isUnsafeId(result[name]));
  if (wrongId !== undefined)
    refuse(`${wrongId} of a task result has control characters or more than ${maxIdLength} characters.`);
  if (!statuses.has(result.status)) refuse(`The status of a task result is one of ${[...statuses].join(', ')}.`);
  const set = Object.entries(result).find(
    ([name, value]) => notForWorkers.has(name.toLowerCase()) && value !== null && value !== '',
  );
  if (set !== undefined) refuse(`A worker cannot set ${set[0]}.`);
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
