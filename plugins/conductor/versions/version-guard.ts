// Removes a workflow version from the split when it fails more often than allowed and more often than the other
// versions.

import { type OutcomeCounts, OutcomeWindow, sumOf } from '../execution/outcome-window.ts';

/** Conditions under which a version is removed. */
export interface GuardOptions {
  /** Allowed failures, in percent of the requests. */
  readonly failurePercent: number;
  /**
   * Minimum number of requests in the window before a version is judged. The version itself must reach this number, and
   * so must all other versions together.
   */
  readonly minRequests: number;
  /** Length of the window, in milliseconds. */
  readonly windowMs: number;
}

/** The outcomes that led to the removal of a version. */
export interface VersionRemoval {
  readonly own: OutcomeCounts;
  /** Outcomes of all other versions that get traffic. */
  readonly others: OutcomeCounts;
}

/** A guard and the routes that it covers. Both outlive the configuration. */
export interface GuardedRoutes {
  readonly guard: VersionGuard;
  /** Names of the apiEndpoints that have received a request. One pipeline may serve several apiEndpoints. */
  readonly routes: Set<string>;
}

/**
 * Minimum difference between the failure rates, in standard errors (one-sided, 95 %). When all versions fail alike
 * because of a shared dependency, one failure rate is still slightly higher than the other. Without a minimum, the
 * version with the higher rate could be removed.
 */
const minStandardErrors = 1.645;

/**
 * Counts outcomes by version over a sliding window. A removed version stays removed: a rolled-back release must not
 * return by itself.
 */
export class VersionGuard {
  readonly #options: GuardOptions;
  readonly #windows = new Map<number, OutcomeWindow>();
  readonly #removed = new Set<number>();

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Versions that were removed and get no traffic. */
  get removed(): ReadonlySet<number> {
    return this.#removed;
  }

  /**
   * Records the outcome of a request.
   * @param now milliseconds of a monotonic clock
   * @returns the outcomes that led to the removal, when this outcome removes the version; else undefined
   */
  note(version: number, outcome: { failed: boolean }, now: number): VersionRemoval | undefined {
    const window = this.#windows.get(version) ?? new OutcomeWindow();
    this.#windows.set(version, window);
    window.add(outcome, now, this.#options.windowMs);
    if (!outcome.failed || this.#removed.has(version)) return undefined;
    const outcomes = this.#compare(version, now);
    if (!this.#isWorse(outcomes)) return undefined;
    this.#removed.add(version);
    return outcomes;
  }

  #compare(version: number, now: number): VersionRemoval {
    const others = [...this.#windows.keys()].filter((other) => other !== version && !this.#removed.has(other));
    return { own: this.#sum([version], now), others: this.#sum(others, now) };
  }

  #isWorse({ own, others }: VersionRemoval): boolean {
    // With too few requests on one side, a faulty version cannot be told from a failing shared dependency.
    if (Math.min(own.requests, others.requests) < this.#options.minRequests) return false;
    const rate = own.failures / own.requests;
    return 100 * rate > this.#options.failurePercent && standardErrorsApart(own, others) > minStandardErrors;
  }

  #sum(versions: readonly number[], now: number): OutcomeCounts {
    const windows = versions.flatMap((version) => this.#windows.get(version) ?? []);
    return sumOf(windows.map((window) => window.counts(now, this.#options.windowMs)));
  }
}

/** The two-proportion z-test: returns by how many standard errors the first failure rate exceeds the second. */
function standardErrorsApart(one: OutcomeCounts, other: OutcomeCounts): number {
  const together = (one.failures + other.failures) / (one.requests + other.requests);
  const error = Math.sqrt(together * (1 - together) * (1 / one.requests + 1 / other.requests));
  const difference = one.failures / one.requests - other.failures / other.requests;
  return difference === 0 ? 0 : difference / error;
}
