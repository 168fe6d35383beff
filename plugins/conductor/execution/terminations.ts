// Reasons for terminating executions. The engine stores these reasons, so that every router later reports the same
// problem.

/** The reason for a read whose client disconnected before the response. */
export const clientGoneReason = 'the client has gone';

/**
 * Returns the reason for a read that has missed its response deadline.
 * @param waitMs how long the client has waited, in milliseconds
 */
export function deadlineReason(waitMs: number): string {
  return `the response deadline has passed (${waitMs} ms)`;
}

/**
 * Returns the milliseconds in a {@link deadlineReason}, including one that an older router wrote; undefined for other
 * reasons.
 */
export function waitMsOf(reason: string | undefined): number | undefined {
  const ms = /^the (?:response deadline has passed|wait budget is spent) \((\d+) ms\)$/.exec(reason ?? '')?.[1];
  return ms === undefined ? undefined : Number(ms);
}
