// Classifies HTTP status codes.

/**
 * Retryable client errors: Request Timeout (RFC 9110 section 15.5.9), Too Early (RFC 8470), Too Many Requests (RFC
 * 6585).
 */
const retryableClientErrors: readonly number[] = [408, 425, 429];

/** Returns true for the statuses after which the same request may succeed later: 408, 425, 429 and 5xx. */
export function isRetryableStatus(status: number): boolean {
  return status >= 500 || retryableClientErrors.includes(status);
}
