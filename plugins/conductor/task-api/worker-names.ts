// Validates the ids and names that workers send, because the engine stores them and logs them unescaped.

import { problemOfTaskDomain } from '#lib/config/task-domain.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { QueueName } from '../dispatch/task-queues.ts';

/**
 * Characters that are not allowed in ids and names. A line break could forge a log line. PostgreSQL cannot store NUL:
 * if a name contains it, the engine fails to store any poll data. A lone surrogate cannot be sent in a URL.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Maximum number of characters of an id. The engine's own ids have 36 characters. */
export const maxIdLength = 256;
/** Maximum number of characters of a task type, as in the engine's database. Routers keep task types in memory. */
const maxTaskTypeLength = 255;

/** True when a string has characters that are not printable, or more characters than `maxLength`. */
export function isUnsafe(text: string, maxLength = maxIdLength): boolean {
  return text.length > maxLength || unprintable.test(text);
}

/** The names in a poll. */
type PollNames = QueueName & { workerId: string | undefined };

/** Validates the names in a poll. @throws Problem `malformed-request` (400) */
export function checkPoll(names: PollNames): void {
  const detail = problemOfPoll(names);
  if (detail !== undefined) throw new Problem('malformed-request', { detail });
}

/** Returns what is wrong with the names in a poll; undefined when they are valid. */
export function problemOfPoll({ taskType, domain, workerId }: PollNames): string | undefined {
  if (isUnsafe(taskType, maxTaskTypeLength))
    return `The task type must be at most ${maxTaskTypeLength} printable characters.`;
  const domainProblem = domain === undefined ? null : problemOfTaskDomain(domain);
  if (domainProblem !== null) return `The domain ${domainProblem}.`;
  if (workerId !== undefined && isUnsafe(workerId))
    return `The worker id must be at most ${maxIdLength} printable characters.`;
  return undefined;
}
