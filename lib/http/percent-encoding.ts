// Percent-decoding of path segments (RFC 3986 section 2.1).

/** Percent-decodes a path segment; returns it unchanged when it is not UTF-8. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
