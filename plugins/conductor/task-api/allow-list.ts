// Which calls of the engine's API pass, by method, path and scope. Everything else does not exist from outside.

/** Scope of workers: they take tasks, report results and write task logs. */
export const workerScope = 'conductor_worker';
/** Scope of operators: they register definitions and read. */
export const adminScope = 'conductor_admin';

/** What is done with an allowed call. */
export type CallKind = 'poll' | 'batch-poll' | 'update' | 'update-and-poll' | 'log' | 'forward';

/** An allowed call. */
export interface AllowedCall {
  kind: CallKind;
  scope: typeof workerScope | typeof adminScope;
  /** Decoded path segments after `/api`. */
  segments: readonly string[];
}

interface Rule {
  method: string;
  /** Segments after `/api`; `*` = any one segment, `**` at the end = any that follow. */
  path: string;
  scope: AllowedCall['scope'];
  kind?: CallKind;
  /** What the call is for, in a few words. */
  does: string;
}

/** The first that fits decides: narrow ones stand before wide ones. */
const rules: readonly Rule[] = [
  { method: 'GET', path: 'tasks/poll/batch/*', scope: workerScope, kind: 'batch-poll', does: 'Take several tasks' },
  { method: 'GET', path: 'tasks/poll/*', scope: workerScope, kind: 'poll', does: 'Take one task' },
  { method: 'POST', path: 'tasks', scope: workerScope, kind: 'update', does: 'Report a result' },
  { method: 'POST', path: 'tasks/update-v2', scope: workerScope, kind: 'update-and-poll', does: 'Report and poll' },
  { method: 'POST', path: 'tasks/*/log', scope: workerScope, kind: 'log', does: 'Write a line into the log of a task' },
  { method: 'GET', path: 'tasks/**', scope: adminScope, does: 'Read tasks' },
  { method: 'GET', path: 'workflow/**', scope: adminScope, does: 'Read executions' },
  { method: 'GET', path: 'metadata/**', scope: adminScope, does: 'Read definitions' },
  { method: 'POST', path: 'metadata/**', scope: adminScope, does: 'Register definitions' },
  { method: 'PUT', path: 'metadata/**', scope: adminScope, does: 'Change definitions' },
  { method: 'GET', path: 'event/**', scope: adminScope, does: 'Read event handlers' },
  { method: 'POST', path: 'event', scope: adminScope, does: 'Register event handlers' },
  { method: 'PUT', path: 'event', scope: adminScope, does: 'Change event handlers' },
];

/** What is open from outside, for the OpenAPI document. */
export const openCalls: readonly Omit<Rule, 'kind'>[] = rules;

/** Decoded segments must be plain: nothing that another parser could take for a separator or a second encoding. */
const plainSegment = /^[^/\\;%?#\x00-\x20\x7f]+$/;

/**
 * Finds the rule for a call: the first that fits by method and path. Its scope is needed, no other will do.
 * @param path percent-encoded path below the router's prefix, beginning with `/api`
 * @returns undefined when the call does not exist from outside
 */
export function findAllowedCall(method: string, path: string): AllowedCall | undefined {
  const segments = decodeSegments(path);
  if (segments === null) return undefined;
  const rule = rules.find((candidate) => candidate.method === method && matches(candidate.path.split('/'), segments));
  return rule && { kind: rule.kind ?? 'forward', scope: rule.scope, segments };
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
