// Cancels executions whose tasks no worker has taken. Other executions continue.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import { cancellationReason, isCancelled } from '#lib/conductor/executions/cancelled.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { isUntouched } from '#lib/conductor/executions/superseded.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { ExecutionLinks, LinksOf } from '../execution/links.ts';
import { type ResumeDependencies, Resumes } from './resumes.ts';

/** Dependencies of {@link Cancellations}. */
export interface CancellationDependencies extends ResumeDependencies {
  readonly engine: Pick<Engine, 'terminate' | 'pause' | 'resume'>;
  readonly executions: Pick<ExecutionApi, 'readWhole' | 'readState'>;
  readonly wakeUps: Pick<WakeUps, 'executionChanged'>;
}

/**
 * Cancels executions. An execution is paused while its tasks are checked, because no router hands out a task of a
 * paused execution (see withheld-tasks.ts).
 */
export class Cancellations {
  readonly #dependencies: CancellationDependencies;
  readonly #resumes: Resumes;
  readonly #running = new Map<string, Promise<WholeExecution>>();

  constructor(dependencies: CancellationDependencies) {
    this.#dependencies = dependencies;
    this.#resumes = new Resumes(dependencies);
  }

  /**
   * Cancels an execution. Concurrent calls for one execution share one cancellation; otherwise, one call could resume
   * the execution while another still needed it paused.
   * @returns the cancelled execution, even if it had been cancelled before
   * @throws Problem `execution-ended` or `execution-under-way` (409); EngineError, after which the execution may have
   *   been cancelled; if it is still paused, it is resumed later
   */
  cancel(execution: WholeExecution, linksOf: LinksOf): Promise<WholeExecution> {
    const { workflowId } = execution;
    const running = this.#running.get(workflowId);
    if (running !== undefined) return running;
    const started = this.#claimAndCancel(execution, linksOf).finally(() => this.#running.delete(workflowId));
    this.#running.set(workflowId, started);
    return started;
  }

  /** Resumes the executions that may still be paused, for as long as {@link Resumes.stop} allows. */
  async stop(): Promise<void> {
    await this.#resumes.stop(Promise.allSettled(this.#running.values()));
  }

  /**
   * Cancels an execution. If an earlier cancellation may have left the execution paused, the background work that would
   * resume it ends first.
   */
  async #claimAndCancel(execution: WholeExecution, linksOf: LinksOf): Promise<WholeExecution> {
    const { workflowId } = execution;
    const mayBePaused = await this.#resumes.claim(workflowId);
    try {
      return await this.#cancel(execution, linksOf);
    } catch (error) {
      if (mayBePaused) this.#resumes.watch(workflowId);
      throw error;
    }
  }

  async #cancel(execution: WholeExecution, linksOf: LinksOf): Promise<WholeExecution> {
    const { engine, executions, wakeUps } = this.#dependencies;
    const { workflowId } = execution;
    const read = async () => (await executions.readWhole(workflowId)) ?? execution;
    const before = hasEnded(execution) ? execution : await read();
    if (hasEnded(before)) return expectCancelled(before, linksOf);
    if (!isUntouched(before)) throw executionUnderWay(linksOf(workflowId));
    const isPaused = await engine.pause(workflowId).catch((error: unknown) => {
      if (mayHaveEffect(error)) this.#resumes.watch(workflowId);
      throw error;
    });
    // An execution that has ended in the meantime cannot be paused.
    if (!isPaused) return expectCancelled(await read(), linksOf);
    let paused: WholeExecution;
    try {
      paused = await read();
      if (hasEnded(paused)) return expectCancelled(paused, linksOf);
      if (!isUntouched(paused)) throw executionUnderWay(linksOf(workflowId));
      // Another router has resumed the execution, so a worker may get its task at any time.
      if (paused.status !== 'PAUSED') throw new EngineError('refused', 'the execution did not stay paused');
    } catch (error) {
      await this.#resumes.resume(workflowId);
      throw error;
    }
    const reason = cancellationReason(paused);
    await engine.terminate(workflowId, reason).catch(async (error: unknown) => {
      // While the engine may still terminate the execution, no worker may get its task.
      if (mayHaveEffect(error)) this.#resumes.watch(workflowId);
      else await this.#resumes.resume(workflowId);
      throw error;
    });
    wakeUps.executionChanged(workflowId);
    const ended = await read();
    if (ended.reasonForIncompletion === reason && !isCancelled(ended))
      throw executionUnderWay(
        linksOf(workflowId),
        'A worker may have received the task during the cancellation; it is unknown whether the back end has processed or will process the request.',
      );
    return expectCancelled(ended, linksOf);
  }
}

function mayHaveEffect(error: unknown): boolean {
  return !(error instanceof EngineError && error.hadNoEffect);
}

function expectCancelled(execution: WholeExecution, linksOf: LinksOf): WholeExecution {
  const { workflowId } = execution;
  if (isCancelled(execution)) return execution;
  if (!hasEnded(execution)) throw new EngineError('refused', 'the engine did not cancel the execution');
  throw new Problem('execution-ended', {
    detail: 'The response of the execution is at the link `response`.',
    extensions: { links: linksOf(workflowId) },
  });
}

function executionUnderWay(
  links: ExecutionLinks,
  detail = 'The execution continues; its response will be at the link `response`.',
): Problem {
  return new Problem('execution-under-way', { detail, extensions: { links } });
}
