// Resumes executions that a cancellation has paused but not ended; in the background while the engine cannot do it.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';

/** Longest time for which a router tries to resume an execution, in milliseconds. */
const maxResumeMs = 10 * 60_000;
const resumePauseMs = 1_000;
/** How long the engine may take to pause an execution, in milliseconds: it waits up to a minute for its lock. */
const maxPauseMs = 75_000;

/** What {@link Resumes} works with. */
export interface ResumeDependencies {
  readonly engine: Pick<Engine, 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readState'>;
}

/** The background work for one execution. */
interface Work {
  /** Aborts when no time is left: the next look at the execution is the last one. */
  readonly hurry: AbortController;
  isClaimed: boolean;
  readonly done: Promise<void>;
}

/** Resumes executions, each by one background task at most. */
export class Resumes {
  readonly #engine: ResumeDependencies['engine'];
  readonly #executions: ResumeDependencies['executions'];
  readonly #works = new Map<string, Work>();

  constructor({ engine, executions }: ResumeDependencies) {
    this.#engine = engine;
    this.#executions = executions;
  }

  /** Resumes a paused execution, in the background when the engine cannot do it now. */
  async resume(executionId: string): Promise<void> {
    if (!(await this.#isResumed(executionId))) this.#start(executionId, (work) => this.#retry(executionId, work));
  }

  /** Resumes, in the background, an execution that the engine may have paused, or may still pause. */
  watch(executionId: string): void {
    this.#start(executionId, (work) => this.#watch(executionId, work));
  }

  /** Ends the background work for an execution, which is then the caller's. @returns false when there was none */
  async claim(executionId: string): Promise<boolean> {
    const work = this.#works.get(executionId);
    if (work === undefined) return false;
    work.isClaimed = true;
    work.hurry.abort();
    await work.done;
    return true;
  }

  /** Looks at each of these executions once more, without delay; resolves when their background work has ended. */
  async stop(): Promise<void> {
    for (const { hurry } of this.#works.values()) hurry.abort();
    await Promise.all([...this.#works.values()].map(({ done }) => done));
  }

  #start(executionId: string, run: (work: Omit<Work, 'done'>) => Promise<void>): void {
    if (this.#works.has(executionId)) return;
    const work = { hurry: new AbortController(), isClaimed: false };
    const done = run(work).finally(() => this.#works.delete(executionId));
    this.#works.set(executionId, Object.assign(work, { done }));
  }

  /** Resumes an execution once the engine can. The engine does not evaluate a paused execution, so no time-out ends it. */
  async #retry(executionId: string, work: Omit<Work, 'done'>): Promise<void> {
    const deadline = performance.now() + maxResumeMs;
    do {
      await wait(work);
      if (work.isClaimed || (await this.#isResumed(executionId))) return;
    } while (!work.hurry.signal.aborted && performance.now() < deadline);
  }

  async #watch(executionId: string, work: Omit<Work, 'done'>): Promise<void> {
    const startedAt = performance.now();
    let wasPaused = false;
    let waitMs: number;
    do {
      await wait(work);
      if (work.isClaimed) return;
      const status = await this.#executions.readState(executionId).catch(() => undefined);
      if (status === null || (status !== undefined && hasEnded({ status }))) return;
      const isPaused = status === 'PAUSED';
      // A cancellation through another router pauses the execution only for a moment, and resumes it itself.
      if (isPaused && (wasPaused || work.hurry.signal.aborted))
        return (await this.#isResumed(executionId)) ? undefined : this.#retry(executionId, work);
      wasPaused = isPaused;
      waitMs = status === 'RUNNING' ? maxPauseMs : maxResumeMs;
    } while (!work.hurry.signal.aborted && performance.now() < startedAt + waitMs);
  }

  /** Resumes an execution. @returns false when it may still be paused */
  async #isResumed(executionId: string): Promise<boolean> {
    try {
      await this.#engine.resume(executionId);
      return true;
    } catch {
      // Conductor responds 500 when it fails, and also when the execution is not paused.
      return this.#executions.readState(executionId).then(
        (state) => state !== 'PAUSED',
        () => false,
      );
    }
  }
}

async function wait({ hurry }: Pick<Work, 'hurry'>): Promise<void> {
  await pause(resumePauseMs, undefined, { signal: hurry.signal, ref: false }).catch(() => undefined);
}
