// Sets a deadline for work that cannot be aborted.

/**
 * Returns the result of the work. A result after the deadline is ignored.
 * @param subject beginning of the error message
 * @throws Error when the work has not finished after `ms` milliseconds
 */
export function withDeadline<T>(subject: string, ms: number, work: T | Promise<T>): Promise<T> {
  return rejectAfter(ms, work, () => new Error(`${subject} did not finish within ${ms / 1_000} s`));
}

/**
 * Returns the result of the work. A result after `ms` milliseconds is ignored.
 * @throws the error that `late` returns when the work has not finished after `ms` milliseconds
 */
export async function rejectAfter<T>(ms: number, work: T | Promise<T>, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
