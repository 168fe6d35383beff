// Whom a limit counts, and under which key.

import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';
import { networkOf } from '../../gateway/client-address.ts';
import { contextOf } from '../../gateway/contract.ts';
import type { ProblemCode } from '../../problem/catalogue.ts';
import { Problem } from '../../problem/problem.ts';

/** The parameter that says whom. */
export const by = Type.Optional(
  Type.Enum(['client', 'route'], {
    description: 'who has the limit: each client (default), or all callers of the route together',
  }),
);

/** The OAuth client, else the caller's network. */
export function callerOf(request: IncomingMessage): string {
  const { clientId } = contextOf(request);
  return clientId === undefined ? `address ${networkOf(request.socket.remoteAddress ?? '')}` : `client ${clientId}`;
}

/** A key that names nobody: it may lie in Redis. @param caller null = everybody */
export function keyOf(route: string, caller: string | null): string {
  return caller === null ? `route:${route}` : `caller:${route}:${hash('sha256', caller, 'base64url')}`;
}

/** What a limit may answer with. */
export const limitProblems = ['too-many-requests', 'limits-unavailable'] as const satisfies readonly ProblemCode[];

/** Configuration says to refuse what cannot be counted. */
export function limitsUnavailable(cause: Error): Problem {
  return new Problem('limits-unavailable', { headers: { 'retry-after': '1' }, cause });
}
