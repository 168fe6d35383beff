// Counts outcomes in a sliding window, for circuit breakers and version guards.

/** Outcomes in a window. */
export interface OutcomeCounts {
  readonly requests: number;
  readonly failures: number;
}

/** Number of slots in a window. The oldest slot is dropped as a whole. */
const slotsInWindow = 10;

/** A sliding window. All times come from one monotonic clock, in milliseconds. */
export class OutcomeWindow {
  readonly #slots: { readonly since: number; requests: number; failures: number }[] = [];

  /** Counts one outcome. @param windowMs length of the window; it may change between calls */
  add(outcome: { failed: boolean }, now: number, windowMs: number): void {
    this.#dropBefore(now - windowMs);
    let slot = this.#slots.at(-1);
    if (slot === undefined || now - slot.since >= windowMs / slotsInWindow)
      this.#slots.push((slot = { since: now, requests: 0, failures: 0 }));
    slot.requests += 1;
    if (outcome.failed) slot.failures += 1;
  }

  /** Returns the outcomes of the last `windowMs` milliseconds. */
  counts(now: number, windowMs: number): OutcomeCounts {
    this.#dropBefore(now - windowMs);
    return sumOf(this.#slots);
  }

  /** Removes all outcomes. */
  clear(): void {
    this.#slots.length = 0;
  }

  #dropBefore(oldest: number): void {
    const first = this.#slots.findIndex(({ since }) => since > oldest);
    if (first !== 0) this.#slots.splice(0, first === -1 ? this.#slots.length : first);
  }
}

/** Adds up outcomes. */
export function sumOf(counts: readonly OutcomeCounts[]): OutcomeCounts {
  return counts.reduce(
    (sum, { requests, failures }) => ({ requests: sum.requests + requests, failures: sum.failures + failures }),
    { requests: 0, failures: 0 },
  );
}
