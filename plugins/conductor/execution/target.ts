// The back end's part of a request target, without decoding or normalising a byte of it.

/** A request target taken apart. */
export interface Target {
  /** Percent-encoded as sent; begins with `/`. */
  path: string;
  /** Without its `?`; undefined when there was none, empty when nothing followed it. */
  query: string | undefined;
}

/**
 * Drops the first `segments` segments of the path.
 * @param target origin-form target as it came over the wire (Node gives bytes above 0x7f as latin1: they are encoded)
 */
export function splitTarget(target: string, segments: number): Target {
  const ascii = target.replace(
    /[^\x00-\x7f]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  const mark = ascii.indexOf('?');
  const path = mark === -1 ? ascii : ascii.slice(0, mark);
  let at = 0;
  for (let dropped = 0; dropped < segments && at !== -1; dropped++) at = path.indexOf('/', at + 1);
  return { path: at === -1 ? '/' : path.slice(at), query: mark === -1 ? undefined : ascii.slice(mark + 1) };
}
