// Resumes executions that a cancellation has paused but not terminated. Retries in the background until the execution
// has been resumed.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';

/** Dependencies of {@link Resumes}. */
export interface ResumeDependencies {
  readonly engine: Pick<Engine, 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readState'>;
  /** Pause between two checks of an execution, in milliseconds. Default: 1 second. */
  readonly everyMs?: number;
  /**
   * Time after which a call whose response was lost can no longer take effect, in milliseconds. Default: 75 seconds,
   * because the engine waits up to a minute for its lock. The default is also longer than a cancellation through
   * another router takes.
   */
  readonly settledMs?: number;
  /**
   * Maximum duration of {@link Resumes.stop}, in milliseconds. Default: 5 seconds, because an engine that does not
   * respond must not delay the other stop functions until the router is killed.
   */
  readonly maxStopMs?: number;
}

/** The background work for one execution. */
interface Work {
  /** Aborts when the next check must not wait, because another call claims the execution or the router stops. */
  readonly hurry: AbortController;
  isClaimed: boolean;
  done: Promise<void>;
}

/** Resumes executions, with at most one background task for each execution. */
export class Resumes {
  readonly #engine: ResumeDependencies['engine'];
  readonly #executions: ResumeDependencies['executions'];
  readonly #everyMs: number;
  readonly #settledMs: number;
  readonly #maxStopMs: number;
  readonly #works = new Map<string, Work>();
  #isStopping = false;
  #isStopped = false;

  constructor({ engine, executions, ...times }: ResumeDependencies) {
    const { everyMs = 1_000, settledMs = 75_000, maxStopMs = 5_000 } = times;
    this.#engine = engine;
    this.#executions = executions;
    this.#everyMs = everyMs;
    this.#settledMs = settledMs;
    this.#maxStopMs = maxStopMs;
  }

  /**
   * Resumes an execution that this router has paused. If the engine cannot resume it now, retries in the background.
   */
  async resume(executionId: string): Promise<void> {
    if (!(await this.#isResumed(executionId))) this.#start(executionId, Number.NEGATIVE_INFINITY);
  }

  /**
   * Resumes, in the background, an execution that the engine may have paused, or may still pause. It is resumed once it
   * has been paused for `settledMs`, because a cancellation may still be in progress.
   */
  watch(executionId: string): void {
    this.#start(executionId, undefined);
  }

  /**
   * Ends the background work for an execution; from then on, the caller is responsible for the execution.
   * @returns false when there was no background work
   */
  async claim(executionId: string): Promise<boolean> {
    const work = this.#works.get(executionId);
    if (work === undefined) return false;
    work.isClaimed = true;
    work.hurry.abort();
    await work.done;
    return true;
  }

  /**
   * Resumes all executions now, even if a cancellation may still be in progress, because nothing would resume them
   * later. Resolves when all are resumed, or after `maxStopMs` at the latest. The background work then ends.
   * @param callers resolves when no other work will be added
   */
  async stop(callers: Promise<unknown>): Promise<void> {
    this.#isStopping = true;
    for (const { hurry } of this.#works.values()) hurry.abort();
    const idle = callers.then(() => Promise.all([...this.#works.values()].map(({ done }) => done)));
    await Promise.race([idle, pause(this.#maxStopMs, undefined, { ref: false })]);
    this.#isStopped = true;
  }

  #start(executionId: string, pausedSince: number | undefined): void {
    if (this.#works.has(executionId)) return;
    const work: Work = { hurry: new AbortController(), isClaimed: false, done: Promise.resolve() };
    if (this.#isStopping) work.hurry.abort();
    this.#works.set(executionId, work);
    work.done = this.#watch(executionId, work, pausedSince).finally(() => this.#works.delete(executionId));
  }

  /**
   * Checks an execution repeatedly until it is resumed or can no longer be paused. The engine does not evaluate a
   * paused execution, so no timeout would ever end it. The checks therefore continue through an outage of the engine.
   */
  async #watch(executionId: string, work: Work, knownPausedSince: number | undefined): Promise<void> {
    const { signal } = work.hurry;
    let pausedSince = knownPausedSince;
    let runningSince = performance.now();
    let isHurried = false;
    do {
      // Only the first check after the abort runs without delay.
      await pause(this.#everyMs, undefined, { ref: false, ...(isHurried ? {} : { signal }) }).catch(() => undefined);
      isHurried = signal.aborted;
      if (work.isClaimed) return;
      const status = await this.#executions.readState(executionId).catch(() => undefined);
      if (work.isClaimed || status === null || (status !== undefined && hasEnded({ status }))) return;
      const now = performance.now();
      if (status === 'PAUSED') {
        pausedSince ??= now;
        const isSettled = now - pausedSince >= this.#settledMs || signal.aborted;
        if (isSettled && (await this.#isResumed(executionId))) return;
      } else if (status === undefined) runningSince = now;
      else if (knownPausedSince !== undefined || now - runningSince >= this.#settledMs) return;
      else pausedSince = undefined;
    } while (!this.#isStopped);
  }

  /** Resumes an execution. @returns false when it may still be paused */
  async #isResumed(executionId: string): Promise<boolean> {
    try {
      await this.#engine.resume(executionId);
      return true;
    } catch {
      // Conductor responds with 500 both when it fails and when the execution is not paused.
      return this.#executions.readState(executionId).then(
        (state) => state !== 'PAUSED',
        () => false,
      );
    }
  }
}
