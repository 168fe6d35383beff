// Asks the router's operations port until the stack is ready, and says what it still waits for.

import { setTimeout as delay } from 'node:timers/promises';

export interface ReadinessOptions {
  /** Base URL of the operations port. */
  readonly operations: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Gets what is still missing, each time it was asked. */
  readonly onWait: (missing: Missing) => void;
}

/** What the router waits for: the names of its dependencies, and why each is not there. */
export type Missing = Readonly<Record<string, readonly string[]>>;

const pauseMs = 100;

/** Resolves at the first 200. @throws the signal's reason when it aborts */
export async function waitUntilReady({ operations, signal, onWait }: ReadinessOptions): Promise<void> {
  for (;;) {
    const missing = await fetchMissing(operations);
    if (missing === undefined) return;
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
    return { router: ['it does not answer yet'] };
  }
}
