// Builds the request target of a back-end call: the configured base URL followed by the client's path, byte for byte.

import { hasDotSegment } from '#lib/http/dot-segments.ts';
import { TaskFailure } from '../task-failure.ts';

/** A request target below a base URL. */
export interface Target {
  /** Scheme, host and port. They come from the configuration only, never from the client. */
  origin: string;
  /** Path and query exactly as sent in the request line. */
  pathAndQuery: string;
}

/**
 * Appends `path` and `query` to `base` without re-encoding or normalising them.
 * @param path empty, or starts with `/`
 * @param query without its `?`; undefined: no question mark; empty: a bare question mark
 * @throws TaskFailure when the path is not valid in a request line, or has dot segments, plain or percent-encoded: a
 *   back end that resolves them would serve a path outside the base
 */
export function createTarget(base: string, path: string, query?: string): Target {
  const { origin, pathname } = new URL(base);
  if (path !== '' && !path.startsWith('/')) throw new TaskFailure('the path does not begin with a slash');
  if (/[^\x21-\xff]/.test(`${path}${query ?? ''}`))
    throw new TaskFailure('the path or query has characters that cannot be sent');
  if (hasDotSegment(path))
    throw new TaskFailure('the path has dot segments, which could lead outside the base URL of the back end');
  const target = `${pathname.replace(/\/+$/, '')}${path}` || '/';
  return { origin, pathAndQuery: query === undefined ? target : `${target}?${query}` };
}
