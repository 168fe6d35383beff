// Takes a version out of the split when it fails more than it may, and more than the others do.

export interface GuardOptions {
  /** Failures of a hundred requests that a version may have. */
  readonly maxFailurePercent: number;
  /** Requests within the window, of a version and of the others together, before it is judged. */
  readonly minRequests: number;
  /** Length of the window, in milliseconds. */
  readonly windowMs: number;
}

interface Slot {
  /** Number of the slot since 1970 or whatever the clock counts from. */
  readonly at: number;
  requests: number;
  failures: number;
}

/** The window moves on in so many steps. */
const slotsInWindow = 10;

/**
 * Counts outcomes by version over a sliding window. A version that is out stays out until this router starts anew:
 * who rolls back a release does not want it back by itself.
 */
export class VersionGuard {
  readonly #options: GuardOptions;
  readonly #slots = new Map<number, Slot[]>();
  readonly #out = new Set<number>();

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Versions that get no traffic any more. */
  get out(): ReadonlySet<number> {
    return this.#out;
  }

  /**
   * Notes how a request ended.
   * @param now milliseconds of any clock that does not go back
   * @returns true when this outcome has taken the version out
   */
  note(version: number, outcome: { failed: boolean }, now: number): boolean {
    const slot = this.#slotOf(version, now);
    slot.requests += 1;
    if (outcome.failed) slot.failures += 1;
    if (!outcome.failed || this.#out.has(version) || !this.#isWorst(version, now)) return false;
    this.#out.add(version);
    return true;
  }

  #isWorst(version: number, now: number): boolean {
    const others = [...this.#slots.keys()].filter((other) => other !== version && !this.#out.has(other));
    const [own, theirs] = [this.#sum([version], now), this.#sum(others, now)];
    // Without both to compare, what fails may be the back end.
    if (Math.min(own.requests, theirs.requests) < this.#options.minRequests) return false;
    const percent = (100 * own.failures) / own.requests;
    return percent > this.#options.maxFailurePercent && percent > (100 * theirs.failures) / theirs.requests;
  }

  #sum(versions: readonly number[], now: number): { requests: number; failures: number } {
    const oldest = this.#slotAt(now) - slotsInWindow;
    const slots = versions.flatMap((version) => this.#slots.get(version) ?? []).filter(({ at }) => at > oldest);
    return {
      requests: slots.reduce((sum, slot) => sum + slot.requests, 0),
      failures: slots.reduce((sum, slot) => sum + slot.failures, 0),
    };
  }

  #slotOf(version: number, now: number): Slot {
    const at = this.#slotAt(now);
    const slots = (this.#slots.get(version) ?? []).filter((slot) => slot.at > at - slotsInWindow);
    this.#slots.set(version, slots);
    const last = slots.at(-1);
    if (last?.at === at) return last;
    const slot = { at, requests: 0, failures: 0 };
    slots.push(slot);
    return slot;
  }

  #slotAt(now: number): number {
    return Math.floor((now * slotsInWindow) / this.#options.windowMs);
  }
}
