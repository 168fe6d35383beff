// Limits the concurrent probes of each back end, and backs off from back ends that do not respond.

/**
 * Maximum number of concurrent probes of a back end that responds: half of a worker process's default concurrency. When
 * the back end stops responding, its probes occupy the worker until they time out, and other colleges need the other
 * half.
 */
const maxProbes = 4;
/**
 * Maximum number of concurrent probes, per task domain, of back ends that are not known to respond. Each domain has its
 * own workers: probes that wait for the stopped workers of one domain do not occupy the workers of another.
 */
const maxUnprovenProbes = 2;
/** Longest pause after probes without a response, in milliseconds. */
const maxPauseMs = 600_000;
/** Age at which a probe counts as lost, in milliseconds. */
const lostAfterMs = 600_000;

interface BackEndState {
  /** Task domain of the last probe; undefined: the default pool. */
  domain: string | undefined;
  /** Executions whose probe is running, with the time at which the probe was first seen (milliseconds since 1970). */
  readonly probing: Map<string, number>;
  limit: number;
  pauseMs: number;
  /** Milliseconds since 1970. */
  pausedUntil: number;
}

/** A back end, and the task domain whose workers call it. */
export interface ProbedBackEnd {
  readonly backEnd: string;
  /** Undefined: the default pool. */
  readonly domain?: string | undefined;
}

/** A back end, and the execution for which it is probed. */
export interface ProbeTarget extends ProbedBackEnd {
  readonly executionId: string;
}

/** State of a probe: running, ended with a response from the back end, or ended without one. */
export type ProbeState = 'under-way' | 'answered' | 'unanswered';

/**
 * Limits concurrent probes per back end. Each limit starts at 1, doubles with each response, and drops to 1 on failure.
 */
export class ProbeLimiter {
  readonly #backEnds = new Map<string, BackEndState>();
  readonly #firstPauseMs: number;

  /**
   * @param firstPauseMs pause after a failed probe, in milliseconds; it doubles with each failure, up to ten minutes
   */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** Returns true when a permit is free. */
  mayAcquire(target: ProbedBackEnd, now: number): boolean {
    const { probing, limit, pausedUntil } = this.#stateOf(target);
    if (probing.size >= limit || now < pausedUntil) return false;
    return limit > 1 || this.#unprovenProbes(target.domain) < maxUnprovenProbes;
  }

  /** Returns true while the execution holds a permit: its probe is running, or the probe is not in the index yet. */
  isProbing(target: ProbeTarget, now: number): boolean {
    const { executionId } = target;
    const { probing } = this.#stateOf(target);
    // A probe that an engine lost when it was killed never ends.
    if (now - (probing.get(executionId) ?? now) >= lostAfterMs) probing.delete(executionId);
    return probing.has(executionId);
  }

  /**
   * Acquires a permit; false when none is free. The execution holds it until `update` reports the end of its
   * probe, or until `release` is called.
   */
  tryAcquire(target: ProbeTarget, now: number): boolean {
    if (!this.mayAcquire(target, now)) return false;
    this.#stateOf(target).probing.set(target.executionId, now);
    return true;
  }

  /**
   * Records the state of a probe. Running probes that an earlier process started are counted from the first call on.
   */
  update(target: ProbeTarget, state: ProbeState, now: number): void {
    const { executionId } = target;
    const backEndState = this.#stateOf(target);
    const since = backEndState.probing.get(executionId) ?? now;
    if (state === 'under-way') return void backEndState.probing.set(executionId, since);
    if (!backEndState.probing.delete(executionId)) return;
    if (state === 'answered') {
      backEndState.limit = Math.min(backEndState.limit * 2, maxProbes);
      backEndState.pauseMs = this.#firstPauseMs;
      return;
    }
    backEndState.limit = 1;
    backEndState.pausedUntil = now + backEndState.pauseMs;
    backEndState.pauseMs = Math.min(backEndState.pauseMs * 2, maxPauseMs);
  }

  /** Releases the permits of an execution. */
  release(executionId: string): void {
    for (const { probing } of this.#backEnds.values()) probing.delete(executionId);
  }

  #unprovenProbes(domain: string | undefined): number {
    const unproven = [...this.#backEnds.values()].filter((each) => each.limit === 1 && each.domain === domain);
    return unproven.reduce((sum, { probing }) => sum + probing.size, 0);
  }

  #stateOf({ backEnd, domain }: ProbedBackEnd): BackEndState {
    const known = this.#backEnds.get(backEnd);
    if (known !== undefined) return Object.assign(known, { domain });
    const state: BackEndState = { domain, probing: new Map(), limit: 1, pauseMs: this.#firstPauseMs, pausedUntil: 0 };
    this.#backEnds.set(backEnd, state);
    return state;
  }
}
