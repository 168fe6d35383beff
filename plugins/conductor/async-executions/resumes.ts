// Resumes executions that a cancellation has paused but not ended; retries in the background until that succeeds.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';

/** What {@link Resumes} works with. */
export interface ResumeDependencies {
  readonly engine: Pick<Engine, 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readState'>;
  /** Pause between two checks of an execution, in milliseconds. Default: 1 second. */
  readonly everyMs?: number;
  /**
   * Time after which a call whose response was lost can no longer take effect, in milliseconds. Default: 75 seconds,
   * because the engine waits up to a minute for its lock. A cancellation through another router takes less time.
   */
  readonly settledMs?: number;
}

/** The background work for one execution. */
interface Work {
  /** Aborts when no time is left: the next check of the execution is the last one. */
  readonly hurry: AbortController;
  isClaimed: boolean;
  done: Promise<void>;
}

/** Resumes executions, each by one background task at most. */
export class Resumes {
  readonly #engine: ResumeDependencies['engine'];
  readonly #executions: ResumeDependencies['executions'];
  readonly #everyMs: number;
  readonly #settledMs: number;
  readonly #works = new Map<string, Work>();
  #isStopping = false;

  constructor({ engine, executions, everyMs = 1_000, settledMs = 75_000 }: ResumeDependencies) {
    this.#engine = engine;
    this.#executions = executions;
    this.#everyMs = everyMs;
    this.#settledMs = settledMs;
  }

  /** Resumes an execution that this router has paused; in the background when the engine cannot resume it now. */
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

  /** Ends the background work for an execution; the caller then does it. @returns false when there was none */
  async claim(executionId: string): Promise<boolean> {
    const work = this.#works.get(executionId);
    if (work === undefined) return false;
    work.isClaimed = true;
    work.hurry.abort();
    await work.done;
    return true;
  }

  /** From now on, each execution is checked only once more, without delay. */
  hurry(): void {
    this.#isStopping = true;
    for (const { hurry } of this.#works.values()) hurry.abort();
  }

  /** Resolves when all background work has ended. */
  async whenIdle(): Promise<void> {
    await Promise.all([...this.#works.values()].map(({ done }) => done));
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
   * paused execution, so no timeout ends it, and an outage of the engine must not end these checks either.
   */
  async #watch(executionId: string, work: Work, knownPausedSince: number | undefined): Promise<void> {
    const { signal } = work.hurry;
    let pausedSince = knownPausedSince;
    let runningSince = performance.now();
    do {
      await pause(this.#everyMs, undefined, { signal, ref: false }).catch(() => undefined);
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
    } while (!signal.aborted);
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
