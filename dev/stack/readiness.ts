// Polls the router's readiness endpoint until the stack is ready.

import { setTimeout as delay } from 'node:timers/promises';

/** What to poll. */
export interface ReadinessOptions {
  /** Base URL of the operations port. */
  readonly operations: string;
  /** Aborts the wait. */
  readonly signal: AbortSignal;
  /** Called after each unsuccessful poll. */
  readonly onWait: (missing: Missing) => void;
}

/** Missing dependencies of the router by name, each with the reasons. */
export type Missing = Readonly<Record<string, readonly string[]>>;

const pauseMs = 100;

/** Resolves when the endpoint responds with 200. @throws the reason of `signal` when it aborts */
export async function waitUntilReady({ operations, signal, onWait }: ReadinessOptions): Promise<void> {
  for (;;) {
    const missing = await fetchMissing(operations);
    if (missing === undefined) return;
    // A stack that is being stopped reports its own progress.
    signal.throwIfAborted();
    onWait(missing);
    await delay(pauseMs, undefined, { signal });
  }
}

async function fetchMissing(operations: string): Promise<Missing | undefined> {
  try {
    const response = await fetch(`${operations}/health/ready`, { signal: AbortSignal.timeout(3_000) });
    const { reasons } = (await response.json()) as { reasons?: Missing };
    return response.status === 200 ? undefined : (reasons ?? {});
  } catch {
    return { router: ['it does not respond yet'] };
  }
}
