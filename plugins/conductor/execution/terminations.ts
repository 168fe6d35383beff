// Why executions are terminated here. The engine keeps the reason, so that every router says the same of it later.

/** Its client cancelled it before a worker had it. */
export const cancelled = 'cancelled by its client';
/** The client of a read did not wait for the answer. */
export const clientGone = 'the client has gone';

/** The client of a read was told that the answer did not come in time. */
export function budgetSpent(budgetMs: number): string {
  return `the wait budget is spent (${budgetMs} ms)`;
}

/** The budget in such a reason, in milliseconds; undefined when it is another. */
export function spentBudgetOf(reason: string | undefined): number | undefined {
  const ms = /^the wait budget is spent \((\d+) ms\)$/.exec(reason ?? '')?.[1];
  return ms === undefined ? undefined : Number(ms);
}
