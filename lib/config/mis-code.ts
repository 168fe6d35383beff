// MIS codes, which identify colleges: part of configuration keys, paths, queues and task domains.

/** Regular expression of an MIS code, without anchors. */
export const misCodePattern = '[0-9A-Za-z]{1,8}';

const misCode = new RegExp(`^${misCodePattern}$`);

/** Returns true for a text that is formed like an MIS code. Whether such a college exists is not checked. */
export function isMisCode(value: unknown): value is string {
  return typeof value === 'string' && misCode.test(value);
}
