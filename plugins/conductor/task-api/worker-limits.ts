// Which pools a client may work for: by its id, configuration narrows it to task types and domains.

import type { Engine } from '#lib/conductor/engine.ts';
import type { Config } from '#lib/config/schema.ts';
import { Problem } from '#lib/problem/problem.ts';
import { findTask } from '../dispatch/dispatched-task.ts';
import type { QueueName } from '../dispatch/task-queues.ts';

/** A task as far as its pool is concerned. */
export interface PooledTask extends QueueName {
  executionId: string;
}

export interface WorkerLimitsOptions {
  config: Config;
  engine: Pick<Engine, 'request'>;
  /** A task that was handed out here; undefined when it was not, or is forgotten. */
  recall: (taskId: string) => PooledTask | undefined;
}

/** The pool without a domain, in the list of domains; Conductor's own word in `taskToDomain`. */
const noDomain = 'NO_DOMAIN';

/** The keys `client.<client id>.taskTypes` and `.domains`; a client that has neither may work for every pool. */
export class WorkerLimits {
  readonly #options: WorkerLimitsOptions;

  constructor(options: WorkerLimitsOptions) {
    this.#options = options;
  }

  /**
   * Calls that reach beyond one task (definitions, executions) cannot be narrowed: whoever is narrowed has none of
   * them. A client that is narrowed to MIS codes works for a pool only when it is narrowed to pools as well.
   * @throws Problem `forbidden`
   */
  checkCall(clientId: string, kind: 'worker' | 'admin'): void {
    const { taskTypes, domains, misCodes } = this.#of(clientId);
    const narrowed = taskTypes !== undefined || domains !== undefined;
    if (kind === 'admin' ? narrowed || misCodes !== undefined : misCodes !== undefined && !narrowed)
      refuse('This client is limited by configuration to less than this call reaches.');
  }

  /** @throws Problem `forbidden` when the client may not take tasks from this queue */
  checkQueue(clientId: string, { taskType, domain }: QueueName): void {
    const { taskTypes, domains } = this.#of(clientId);
    if (taskTypes === undefined && domains === undefined) return;
    // The engine's queue is `<domain>:<task type>`: a colon in the type would name another domain's queue.
    if (taskType.includes(':') || domain?.includes(':') === true) refuse('This client may not work for this pool.');
    if (taskTypes?.includes(taskType) === false || domains?.includes(domain ?? noDomain) === false)
      refuse('This client may not work for this pool.');
  }

  /**
   * Whether the client may report a task, or write its log: as if it asked for it.
   * @param executionId what the report says; it must be the task's own, as the engine acts on it
   * @throws Problem `forbidden`; EngineError when the task is not known here and the engine cannot be asked
   */
  async checkTask(clientId: string, taskId: string, executionId?: string): Promise<void> {
    const { taskTypes, domains } = this.#of(clientId);
    if (taskTypes === undefined && domains === undefined) return;
    const task = this.#options.recall(taskId) ?? (await this.#look(taskId));
    // A task that does not exist is answered like one of another pool: ids cannot be tried out.
    if (task === undefined) refuse('This client may not report this task.');
    this.checkQueue(clientId, task);
    if (executionId !== undefined && executionId !== task.executionId) refuse('This client may not report this task.');
  }

  #of(clientId: string) {
    const { config } = this.#options;
    return {
      taskTypes: config[`client.${clientId}.taskTypes`],
      domains: config[`client.${clientId}.domains`],
      misCodes: config[`client.${clientId}.misCodes`],
    };
  }

  /** Handed out by another router, or before a restart. */
  async #look(taskId: string): Promise<PooledTask | undefined> {
    const task = await findTask(this.#options.engine, taskId);
    if (task === undefined) return undefined;
    return { taskType: task.taskDefName, domain: task.domain ?? undefined, executionId: task.workflowInstanceId };
  }
}

function refuse(detail: string): never {
  throw new Problem('forbidden', { detail });
}
