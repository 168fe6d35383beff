// Reasons for terminating executions. The engine stores them, so that every router reports the same problem later.

/** The client cancelled the execution before a worker received its task. */
export const cancelled = 'cancelled by its client';
/** The client of a read disconnected before the response. */
export const clientGoneReason = 'the client has gone';

/** Reason after a read has missed its response deadline. @param budgetMs the deadline, in milliseconds */
export function deadlineReason(budgetMs: number): string {
  return `the wait budget is spent (${budgetMs} ms)`;
}

/** Returns the response deadline in a {@link deadlineReason}, in milliseconds; undefined for other reasons. */
export function deadlineOf(reason: string | undefined): number | undefined {
  const ms = /^the wait budget is spent \((\d+) ms\)$/.exec(reason ?? '')?.[1];
  return ms === undefined ? undefined : Number(ms);
}
