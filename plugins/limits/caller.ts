// Code that `rate-limit` and `in-flight` share: the parameter `by`, counter keys and problems.

import { hash } from 'node:crypto';
import { Type } from '#lib/json/json-schema.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { Problem } from '#lib/problem/problem.ts';

/** The parameter `by`: what a limit applies to. */
export const subjectParameter = Type.Optional(
  Type.Enum(['client', 'route'], {
    default: 'client',
    description: 'what the limit applies to: each client, or all callers of the route together',
  }),
);

/**
 * Returns the counter key of a caller or of a route. The caller is hashed, because the key may be stored in Redis.
 * @param caller the result of `callerOf`; null for a limit on the whole route
 */
export function keyOf(route: string, caller: string | null): string {
  return caller === null ? `route:${route}` : `caller:${route}:${hash('sha256', caller, 'base64url')}`;
}

/** Problems with which a limit rejects requests. */
export const limitProblems = ['too-many-requests', 'limits-unavailable'] as const satisfies readonly ProblemCode[];

/**
 * Returns the problem for a request that cannot be counted because Redis is unavailable. It is used when
 * `limits.whenRedisIsAway` is `refuse`.
 */
export function limitsUnavailable(cause: Error): Problem {
  return new Problem('limits-unavailable', { headers: { 'retry-after': '1' }, cause });
}
