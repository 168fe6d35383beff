// Takes a version out of the split when it fails more than it may, and more than the others do.

export interface GuardOptions {
  /** Failures of a hundred requests that a version may have. */
  readonly failurePercent: number;
  /** Requests within the window, of a version and of the others together, before it is judged. */
  readonly minRequests: number;
  /** Length of the window, in milliseconds. */
  readonly windowMs: number;
}

/** What was seen within the window. */
export interface Seen {
  readonly requests: number;
  readonly failures: number;
}

/** Why a version was taken out. */
export interface TakenOut {
  readonly own: Seen;
  /** Of all other versions that get traffic. */
  readonly others: Seen;
}

/** What is judged together: a guard, and who has come to it. It outlives the configuration. */
export interface Judged {
  readonly guard: VersionGuard;
  /** Names of the apiEndpoints that were asked for: a pipeline may serve several. */
  readonly routes: Set<string>;
}

interface Slot {
  /** Number of the slot since the clock's zero. */
  readonly at: number;
  requests: number;
  failures: number;
}

/** The window moves on in so many steps. */
const slotsInWindow = 10;
/**
 * How far the rates must be apart, in standard errors (one-sided, 95 %). When both versions fail alike because what they
 * share is away, one of them is always a little above the other.
 */
const clearlyAbove = 1.645;

/**
 * Counts outcomes by version over a sliding window. A version that is out stays out: who rolls back a release does
 * not want it back by itself.
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
   * @returns why this outcome has taken the version out; undefined when it has not
   */
  note(version: number, outcome: { failed: boolean }, now: number): TakenOut | undefined {
    const slot = this.#slotOf(version, now);
    slot.requests += 1;
    if (outcome.failed) slot.failures += 1;
    if (!outcome.failed || this.#out.has(version)) return undefined;
    const seen = this.#compare(version, now);
    if (!this.#isWorse(seen)) return undefined;
    this.#out.add(version);
    return seen;
  }

  #compare(version: number, now: number): TakenOut {
    const others = [...this.#slots.keys()].filter((other) => other !== version && !this.#out.has(other));
    return { own: this.#sum([version], now), others: this.#sum(others, now) };
  }

  #isWorse({ own, others }: TakenOut): boolean {
    // Without both to compare, what fails may be what they share.
    if (Math.min(own.requests, others.requests) < this.#options.minRequests) return false;
    const rate = own.failures / own.requests;
    return 100 * rate > this.#options.failurePercent && standardErrorsApart(own, others) > clearlyAbove;
  }

  #sum(versions: readonly number[], now: number): Seen {
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

/** The two-proportion z-test: how many standard errors the first rate of failure is above the second. */
function standardErrorsApart(one: Seen, other: Seen): number {
  const together = (one.failures + other.failures) / (one.requests + other.requests);
  const error = Math.sqrt(together * (1 - together) * (1 / one.requests + 1 / other.requests));
  const difference = one.failures / one.requests - other.failures / other.requests;
  return difference === 0 ? 0 : difference / error;
}
