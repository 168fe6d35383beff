// Splits a request target into path and query for the back end, without decoding or normalising it.

/** Path and query of a request target. */
export interface Target {
  /** Percent-encoded as sent; starts with `/`, or is empty when the whole path was dropped. */
  path: string;
  /** Without the `?`; undefined when the target has no `?`. */
  query: string | undefined;
}

/**
 * Splits a target and drops the first `segments` segments of the path.
 * @param target origin-form target as received
 */
export function splitTarget(target: string, segments: number): Target {
  const queryStart = target.indexOf('?');
  const path = queryStart === -1 ? target : target.slice(0, queryStart);
  let pathStart = 0;
  for (let dropped = 0; dropped < segments && pathStart !== -1; dropped++) pathStart = path.indexOf('/', pathStart + 1);
  return {
    path: pathStart === -1 ? '' : path.slice(pathStart),
    query: queryStart === -1 ? undefined : target.slice(queryStart + 1),
  };
}
