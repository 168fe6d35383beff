// The allow-list of calls to the engine's API, by method, path and scope. All other calls get a 404.

import type { PlannedRequest, Refusal } from '../../../gateway/plugin-api/plugin-api.ts';

/** Scope of workers: polls, results and task logs. */
const workerScope = 'conductor_worker';
/** Scope of operators: managing definitions, and reading executions and tasks. */
export const adminScope = 'conductor_admin';

/** How an allowed call is handled. */
export type CallKind = 'poll' | 'batch-poll' | 'update' | 'update-and-poll' | 'exchange' | 'log' | 'forward';

/** A call that the allow-list admits, with the scope that it needs. */
export interface AllowedCall {
  kind: CallKind;
  scope: typeof workerScope | typeof adminScope;
  /** Decoded path segments after `/api`. */
  segments: readonly string[];
}

interface Rule {
  method: string;
  /**
   * Segments after `/api`; `*` matches one segment, and a final `**` matches any number of segments, including none.
   */
  path: string;
  scope: AllowedCall['scope'];
  kind?: CallKind;
  /** Purpose of the call, for the OpenAPI document. */
  summary: string;
}

/** The first matching rule applies, so specific rules come before general ones. */
const rules: readonly Rule[] = [
  { method: 'GET', path: 'tasks/poll/batch/*', scope: workerScope, kind: 'batch-poll', summary: 'Take several tasks' },
  { method: 'GET', path: 'tasks/poll/*', scope: workerScope, kind: 'poll', summary: 'Take one task' },
  { method: 'POST', path: 'tasks', scope: workerScope, kind: 'update', summary: 'Report a result' },
  { method: 'POST', path: 'tasks/update-v2', scope: workerScope, kind: 'update-and-poll', summary: 'Report and poll' },
  {
    method: 'POST',
    path: 'tasks/exchange',
    scope: workerScope,
    kind: 'exchange',
    summary: 'Report results and take tasks',
  },
  { method: 'POST', path: 'tasks/*/log', scope: workerScope, kind: 'log', summary: 'Write to the log of a task' },
  { method: 'GET', path: 'tasks/**', scope: adminScope, summary: 'Read tasks' },
  { method: 'GET', path: 'workflow/**', scope: adminScope, summary: 'Read executions' },
  { method: 'GET', path: 'metadata/**', scope: adminScope, summary: 'Read definitions' },
  { method: 'POST', path: 'metadata/**', scope: adminScope, summary: 'Register definitions' },
  { method: 'PUT', path: 'metadata/**', scope: adminScope, summary: 'Change definitions' },
  { method: 'GET', path: 'event/**', scope: adminScope, summary: 'Read event handlers' },
  { method: 'POST', path: 'event', scope: adminScope, summary: 'Register event handlers' },
  { method: 'PUT', path: 'event', scope: adminScope, summary: 'Change event handlers' },
];

/** The allowed calls, for the OpenAPI document. */
export const allowedCalls: readonly Rule[] = rules;

/** A decoded segment must not contain separators or escapes, which another parser could interpret again. */
const plainSegment = /^[^/\\;%?#\x00-\x20\x7f]+$/;

/**
 * Finds the first rule that matches a call by method and path. The call needs exactly the scope of that rule.
 * @param path percent-encoded path below the router's prefix, starting with `/api`
 * @returns undefined when the call is not allowed
 * @throws URIError when the path has an invalid percent-encoding
 */
export function findAllowedCall(method: string, path: string): AllowedCall | undefined {
  const segments = decodeSegments(path);
  if (segments === null) return undefined;
  const rule = rules.find((candidate) => candidate.method === method && matches(candidate.path.split('/'), segments));
  return rule && { kind: rule.kind ?? 'forward', scope: rule.scope, segments };
}

/**
 * Returns why a call to the engine's API is refused; undefined when it is allowed, or when its path is not known.
 * @param strip leading part of the public path in front of `/api`
 */
export function judgeCall({ method, path, scopes }: PlannedRequest, strip: string): Refusal | undefined {
  if (path === undefined) return undefined;
  const call = findAllowedCall(method, path.split('?', 1)[0]?.slice(strip.length) ?? '');
  if (call === undefined) return { status: 404, reason: 'the router does not forward this call to the engine' };
  return scopes.has(call.scope) ? undefined : { status: 403, reason: `this call needs the scope ${call.scope}` };
}

function decodeSegments(path: string): string[] | null {
  const [empty, api, ...rest] = path.split('/');
  if (empty !== '' || api !== 'api' || rest.length === 0) return null;
  if (rest.at(-1) === '') rest.pop();
  const decoded = rest.map((segment) => decodeURIComponent(segment));
  return decoded.every((segment) => plainSegment.test(segment) && segment !== '.' && segment !== '..') ? decoded : null;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const open = pattern.at(-1) === '**';
  const fixed = open ? pattern.slice(0, -1) : pattern;
  if (open ? segments.length < fixed.length : segments.length !== fixed.length) return false;
  return fixed.every((part, index) => part === '*' || part === segments[index]);
}
