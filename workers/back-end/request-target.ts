// Where a request to a back end goes: a base from the configuration with the client's path behind it, byte for byte.

import { TaskFailure } from '../task-failure.ts';

/** A request target below a base. */
export interface Target {
  /** Scheme, host and port: these come from the configuration alone. */
  origin: string;
  /** Path and query exactly as they go into the request line. */
  pathAndQuery: string;
}

/**
 * Puts `path` and `query` behind `base`; nothing is re-encoded or normalised.
 * @param path empty, or beginning with `/`
 * @param query without its `?`; undefined = no question mark, empty = a bare one
 * @throws TaskFailure when the path cannot stand in a request line, or has dot segments, encoded ones included: a
 *   back end that resolves them would leave its base
 */
export function createTarget(base: string, path: string, query?: string): Target {
  const { origin, pathname } = new URL(base);
  if (path !== '' && !path.startsWith('/')) throw new TaskFailure('the path does not begin with a slash');
  if (/[^\x21-\xff]/.test(`${path}${query ?? ''}`))
    throw new TaskFailure('the path has characters that cannot be sent');
  if (hasDotSegment(path))
    throw new TaskFailure('the path has dot segments, which could leave the base of the back end');
  const target = `${pathname.replace(/\/+$/, '')}${path}` || '/';
  return { origin, pathAndQuery: query === undefined ? target : `${target}?${query}` };
}

/**
 * Tells whether a server could take a part of the path for `.` or `..`: percent-encoded dots and slashes count, as do
 * backslashes and what stands before a path parameter (`..;x`).
 */
export function hasDotSegment(path: string): boolean {
  const decoded = path.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '/').replaceAll('\\', '/');
  return decoded.split('/').some((segment) => /^\.{1,2}(?:;|%3b|$)/i.test(segment));
}
