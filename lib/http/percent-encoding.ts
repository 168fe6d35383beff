// Percent-encoding of request targets (RFC 3986 section 2.1).

/** Percent-encodes the raw bytes of a request target above 0x7f, which Node reads as Latin-1. */
export function encodeRawBytes(target: string): string {
  return target.replace(
    /[^\x00-\x7f]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Percent-decodes a path segment; returns it unchanged when it is not UTF-8. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
