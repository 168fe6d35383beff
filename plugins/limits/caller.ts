// What limits have in common: who has one, under which key it counts, and what it answers.

import { hash } from 'node:crypto';
import { Type } from 'typebox';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { Problem } from '#lib/problem/problem.ts';

/** The parameter that says whom. */
export const by = Type.Optional(
  Type.Enum(['client', 'route'], {
    description: 'who has the limit: each client (default), or all callers of the route together',
  }),
);

/** A key that names nobody: it may lie in Redis. @param caller `callerOf` a request; null = everybody */
export function keyOf(route: string, caller: string | null): string {
  return caller === null ? `route:${route}` : `caller:${route}:${hash('sha256', caller, 'base64url')}`;
}

/** What a limit may answer with. */
export const limitProblems = ['too-many-requests', 'limits-unavailable'] as const satisfies readonly ProblemCode[];

/** Configuration says to refuse what cannot be counted. */
export function limitsUnavailable(cause: Error): Problem {
  return new Problem('limits-unavailable', { headers: { 'retry-after': '1' }, cause });
}
