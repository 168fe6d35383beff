// Classifies HTTP methods.

const safeMethods: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS', 'TRACE'];

/**
 * Returns true for a safe method, whose request changes nothing at the receiver and may be repeated (RFC 9110 sections
 * 9.2.1 and 9.2.2). Methods are case-sensitive; any other value is not safe.
 */
export function isSafeMethod(method: unknown): boolean {
  return safeMethods.includes(method);
}
