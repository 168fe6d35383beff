// Detects dot segments in a path, which a server could resolve to a place outside the base path.

/** Maximum number of percent-decoding rounds. No server is assumed to decode a path more often. */
const maxDecodings = 4;

/**
 * Returns true when a server could read a segment of the path as `.` or `..` (RFC 3986 section 5.2.4): plain or
 * percent-encoded (even repeatedly), after backslashes, with a matrix parameter (`..;x`), or with a Unicode variant of
 * the dot (NFKC, U+FF0E).
 */
export function hasDotSegment(path: string): boolean {
  let text = path;
  for (let decodings = 0; ; decodings++) {
    if (text.normalize('NFKC').split(/[/\\]/).some(isDotSegment)) return true;
    const next = text.replace(/%(2e|2f|5c|3b|25)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (next === text || decodings === maxDecodings) return false;
    text = next;
  }
}

function isDotSegment(segment: string): boolean {
  const name = segment.split(';', 1)[0];
  return name === '.' || name === '..';
}
