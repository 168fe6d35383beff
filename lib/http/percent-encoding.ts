// Percent-decodes path segments (RFC 3986 section 2.1).

/** Percent-decodes a path segment; returns it unchanged when the result would not be UTF-8. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
