// Validates MIS codes, which identify colleges in configuration keys, paths, queues and task domains.

/** Regular expression for an MIS code, without anchors. */
export const misCodePattern = '[0-9A-Za-z]{1,8}';

const misCode = new RegExp(`^${misCodePattern}$`);

/** Returns true for a string in the format of an MIS code. It does not check whether the college exists. */
export function isMisCode(value: unknown): value is string {
  return typeof value === 'string' && misCode.test(value);
}
