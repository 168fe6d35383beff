// Sets a deadline for work that cannot be aborted.

/**
 * Returns the result of the work. A result after the deadline is ignored.
 * @param subject beginning of the error message
 * @throws Error when the work has not ended after `ms` milliseconds
 */
export async function withDeadline<T>(subject: string, ms: number, work: T | Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${subject} has not ended within ${ms / 1_000} s`)), ms);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
