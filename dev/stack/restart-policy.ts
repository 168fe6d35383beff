// The restart policy of programs: exponential backoff, and a limit on crashes within a time window.

/** Limits and delays of restarts. */
export interface RestartPolicy {
  /** Number of crashes within `windowMs` after which the program is not restarted. */
  readonly crashes: number;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** Delay after the first crash, in milliseconds; doubles with each further crash in the window. */
  readonly firstDelayMs: number;
  /** Longest delay, in milliseconds. */
  readonly maxDelayMs: number;
}

/** The default policy: up to four restarts in a minute. */
export const restartPolicy: RestartPolicy = { crashes: 5, windowMs: 60_000, firstDelayMs: 250, maxDelayMs: 5_000 };

/** What to do after a crash. */
export type RestartDecision =
  | { readonly action: 'restart'; readonly delayMs: number }
  | { readonly action: 'give up'; readonly crashes: number };

/**
 * Decides what to do after a crash.
 * @param crashes times of the crashes in milliseconds, oldest first; the last one is the current time
 */
export function decideRestart(crashes: readonly number[], policy: RestartPolicy = restartPolicy): RestartDecision {
  const now = crashes.at(-1) ?? 0;
  const recent = crashes.filter((at) => now - at < policy.windowMs).length;
  if (recent >= policy.crashes) return { action: 'give up', crashes: recent };
  const delayMs = Math.min(policy.firstDelayMs * 2 ** Math.max(0, recent - 1), policy.maxDelayMs);
  return { action: 'restart', delayMs };
}
