// When a program that died is started again, and when it is given up: arithmetic only.

export interface RestartPolicy {
  /** This many deaths within `windowMs` end the attempts. */
  readonly deaths: number;
  readonly windowMs: number;
  /** Pause after the first death; doubles with each further one inside the window. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** Five deaths in a minute. */
export const restartPolicy: RestartPolicy = { deaths: 5, windowMs: 60_000, firstDelayMs: 250, maxDelayMs: 5_000 };

export type RestartDecision =
  { readonly action: 'restart'; readonly delayMs: number } | { readonly action: 'give up'; readonly deaths: number };

/**
 * What to do after a death.
 * @param deaths when the program died, in milliseconds, oldest first; the last one is now
 */
export function decideRestart(deaths: readonly number[], policy: RestartPolicy = restartPolicy): RestartDecision {
  const now = deaths.at(-1) ?? 0;
  const recent = deaths.filter((at) => now - at < policy.windowMs).length;
  if (recent >= policy.deaths) return { action: 'give up', deaths: recent };
  const delayMs = Math.min(policy.firstDelayMs * 2 ** Math.max(0, recent - 1), policy.maxDelayMs);
  return { action: 'restart', delayMs };
}
