// Withholds three kinds of tasks from workers, whichever router polls them: tasks of executions that are being
// cancelled, tasks of second executions for the same Idempotency-Key, and tasks that the engine delivers a second time.
//
// The engine does not serialise a poll and a termination: the last write wins. A cancellation therefore first pauses
// the execution and then checks whether its task was taken. A poll takes the task and then checks whether its execution
// is paused. In this way, the cancellation notices the poll, or the poll notices the cancellation, or both.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { Task } from '#lib/conductor/types.ts';
import type { ExecutionRecorder } from '#lib/records/recorder.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { isKeyed, readSoleExecution } from '../idempotency/sole-execution.ts';
import { isRepeatedDelivery, runsOnce } from '../dispatch/repeated-delivery.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';

/** Dependencies of {@link WithheldTasks}. */
export interface WithheldTasksOptions {
  readonly engine: Pick<Engine, 'getStatus' | 'pollTasks'>;
  readonly executions: Pick<ExecutionApi, 'correlated' | 'terminate'>;
  readonly recorder: Pick<ExecutionRecorder, 'polled'>;
  /** Names of the workflows that clients start. Only their executions can be cancelled. */
  readonly workflows: ReadonlySet<string>;
  /** Executions whose client is waiting at this router and does not know the id yet, so nobody can cancel them. */
  readonly waitedFor: ReadonlySet<string>;
  /** Queues a task that may be handed out after all. */
  readonly giveBack: (task: Task) => void;
  /** Called with the tasks that a poll leaves out, because the engine may have other tasks behind them in its queue. */
  readonly onOmitted: (tasks: readonly Task[]) => void;
  /**
   * Returns a task to the engine, for the next router that polls. Resolves to false when the engine does not accept it.
   */
  readonly requeue: (task: Task) => Promise<boolean>;
  /**
   * Time after which a withheld task is returned to the engine, in milliseconds; default 10,000. The next poll takes
   * the task again. If the router kept the task longer, the response timeout could end the task while its execution is
   * paused.
   */
  readonly maxWithheldMs?: number;
  /** Time after which the router stops trying to return a task to the engine, in milliseconds; default 600,000. */
  readonly maxRequeueMs?: number;
  readonly log: Logger;
}

const firstPauseMs = 50;
const longestPauseMs = 1_000;

/** Polls the engine and withholds tasks that must not be handed out. */
export class WithheldTasks {
  readonly #options: WithheldTasksOptions;
  readonly #stopped = new AbortController();
  readonly #withheld = new Set<Promise<void>>();

  constructor(options: WithheldTasksOptions) {
    this.#options = options;
  }

  /** Polls the engine. Withheld tasks are handed out later or never. */
  async poll(...poll: Parameters<Engine['pollTasks']>): Promise<Task[]> {
    const { engine, recorder, waitedFor } = this.#options;
    const polled = await engine.pollTasks(...poll);
    const tasks = polled.filter((task) => !this.#isRepeated(task));
    // The polls are recorded before the check for other executions of the same key. If two routers check at the same
    // time, each therefore sees the other's record.
    await recorder.polled(tasks.filter(({ workflowInstanceId }) => !waitedFor.has(workflowInstanceId)));
    const mayDispatch = await Promise.all(tasks.map((task) => this.#mayDispatch(task)));
    const dispatched = tasks.filter((_task, index) => mayDispatch[index]);
    const omitted = polled.filter((task) => !dispatched.includes(task));
    if (omitted.length > 0) this.#options.onOmitted(omitted);
    return dispatched;
  }

  /** Returns the withheld tasks to the engine, so that another router can poll them. Call it when no poll is open. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#withheld);
  }

  #isRepeated(task: Task): boolean {
    const isRepeated = isRepeatedDelivery(task) && runsOnce(task);
    if (isRepeated) {
      const { taskDefName: taskType, taskId, workflowInstanceId: executionId } = task;
      this.#options.log.warn({ taskType, taskId, executionId }, 'ignored a task that the engine delivered again');
    }
    return isRepeated;
  }

  async #mayDispatch(task: Task): Promise<boolean> {
    const { workflows, waitedFor } = this.#options;
    if (!workflows.has(String(task['workflowType'])) || waitedFor.has(task.workflowInstanceId)) return true;
    const state = await this.#stateOf(task);
    if (state === 'undecided') this.#withhold(task);
    return state === 'running';
  }

  #withhold(task: Task): void {
    const withheld = this.#dispatchLater(task).finally(() => this.#withheld.delete(withheld));
    this.#withheld.add(withheld);
  }

  async #dispatchLater(task: Task): Promise<void> {
    const heldSince = performance.now();
    const heldMs = () => performance.now() - heldSince;
    const { maxWithheldMs = 10_000, maxRequeueMs = 600_000, requeue } = this.#options;
    const { signal } = this.#stopped;
    for (let pauseMs = firstPauseMs; heldMs() < maxRequeueMs; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return void (await requeue(task));
      const state = await this.#stateOf(task);
      if (state === 'running') return this.#options.giveBack(task);
      if (state === 'ended') return;
      if (heldMs() >= maxWithheldMs && (await requeue(task))) return;
    }
    const { taskDefName: taskType, taskId, workflowInstanceId: executionId } = task;
    this.#options.log.error(
      { taskType, taskId, executionId },
      'a withheld task could not be returned to the engine; it ends at the response timeout of its task type',
    );
  }

  async #stateOf(task: Task): Promise<'running' | 'ended' | 'undecided'> {
    const { workflowInstanceId } = task;
    const { engine, executions } = this.#options;
    try {
      const status = isKeyed(task)
        ? await readSoleExecution(task, executions)
        : await engine.getStatus(workflowInstanceId);
      if (status === undefined) return 'undecided';
      if (hasEnded(status)) return 'ended';
      return status.status === 'RUNNING' ? 'running' : 'undecided';
    } catch (error) {
      this.#options.log.debug(
        { executionId: workflowInstanceId, ...errorFields(error) },
        'could not read the status of the execution',
      );
      return 'undecided';
    }
  }
}
