// Splits a request target into path and query for the back end, without decoding or normalising it.

import { encodeRawBytes } from '#lib/http/percent-encoding.ts';

/** Path and query of a request target. */
export interface Target {
  /** Percent-encoded as sent; starts with `/`, or is empty when all of it was dropped. */
  path: string;
  /** Without the `?`; undefined when the target has no `?`. */
  query: string | undefined;
}

/**
 * Splits a target and drops the first `segments` segments of the path.
 * @param target origin-form target as received; bytes above 0x7f are percent-encoded
 */
export function splitTarget(target: string, segments: number): Target {
  const ascii = encodeRawBytes(target);
  const queryStart = ascii.indexOf('?');
  const path = queryStart === -1 ? ascii : ascii.slice(0, queryStart);
  let pathStart = 0;
  for (let dropped = 0; dropped < segments && pathStart !== -1; dropped++) pathStart = path.indexOf('/', pathStart + 1);
  return {
    path: pathStart === -1 ? '' : path.slice(pathStart),
    query: queryStart === -1 ? undefined : ascii.slice(queryStart + 1),
  };
}
