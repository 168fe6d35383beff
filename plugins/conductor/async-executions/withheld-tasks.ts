// Tasks of executions that are being cancelled, or of a second execution of an Idempotency-Key, never leave for a worker,
// through whichever router they are polled.
//
// The engine does not decide between a poll and a termination: what is written last stays. So whoever cancels first
// pauses the execution and then looks whether its task was taken; whoever polls a task has taken it and then looks
// whether its execution is paused. One of the two sees the other.

import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { Task } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { isKeyed, readSoleExecution } from '../idempotency/sole-execution.ts';
import { hasEnded } from '../dispatch/completion-waiters.ts';

export interface WithheldTasksOptions {
  readonly engine: Pick<Engine, 'getStatus' | 'pollTasks'>;
  readonly executions: Pick<ExecutionApi, 'correlated' | 'terminate'>;
  /** Names of the workflows that clients start: only their executions are cancelled. */
  readonly workflows: ReadonlySet<string>;
  /** Executions whose client waits here and does not know their id yet: nobody can cancel them. */
  readonly waitedFor: ReadonlySet<string>;
  /** Takes a task that may leave after all. */
  readonly giveBack: (task: Task) => void;
  readonly log: Logger;
}

/** How long it is asked what becomes of an execution, in milliseconds; then its task times out in the engine. */
const longestMs = 60_000;
const firstPauseMs = 50;
const longestPauseMs = 1_000;

export class WithheldTasks {
  readonly #options: WithheldTasksOptions;
  readonly #stopped = new AbortController();

  constructor(options: WithheldTasksOptions) {
    this.#options = options;
  }

  /** Polls the engine; what is withheld comes later or never. */
  async poll(...poll: Parameters<Engine['pollTasks']>): Promise<Task[]> {
    const tasks = await this.#options.engine.pollTasks(...poll);
    const may = await Promise.all(tasks.map((task) => this.#mayLeave(task)));
    return tasks.filter((_task, index) => may[index]);
  }

  /** Ends whatever is withheld. */
  stop(): void {
    this.#stopped.abort();
  }

  async #mayLeave(task: Task): Promise<boolean> {
    const { workflows, waitedFor } = this.#options;
    if (!workflows.has(String(task['workflowType'])) || waitedFor.has(task.workflowInstanceId)) return true;
    const state = await this.#stateOf(task);
    if (state === 'undecided') void this.#leaveLater(task);
    return state === 'running';
  }

  async #leaveLater(task: Task): Promise<void> {
    const deadline = performance.now() + longestMs;
    const { signal } = this.#stopped;
    for (let pauseMs = firstPauseMs; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const state = await this.#stateOf(task);
      if (state === 'running') return this.#options.giveBack(task);
      if (state === 'ended') return;
    }
    this.#options.log.warn(
      { executionId: task.workflowInstanceId },
      'a task was not handed out: its execution is paused',
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
      this.#options.log.debug({ executionId: workflowInstanceId, ...errorFields(error) }, 'status not read');
      return 'undecided';
    }
  }
}
