// Authorisation of workers: limits a client to task types and domains, by configuration.

import type { Engine } from '#lib/conductor/engine.ts';
import { isDirectDomain, poolDomain } from '#lib/conductor/executions/direct-domain.ts';
import type { Config } from '#lib/config/schema.ts';
import { Problem } from '#lib/problem/problem.ts';
import { isSystemTask } from '#lib/conductor/definitions/task-types.ts';
import { findTask } from '../dispatch/dispatched-task.ts';
import type { QueueName } from '../dispatch/task-queues.ts';

/** A task's queue and execution. */
export interface PooledTask extends QueueName {
  executionId: string;
}

/** Dependencies of {@link WorkerLimits}. */
export interface WorkerLimitsOptions {
  config: Config;
  engine: Pick<Engine, 'request'>;
  /** Names of the workflows, after which the engine's event queues are named. */
  workflows: readonly string[];
  /** Returns a task that this router delivered; undefined when it is unknown. */
  recall: (taskId: string) => PooledTask | undefined;
}

/** Name of the default pool in a list of domains, as in Conductor's `taskToDomain`. */
const noDomain = 'NO_DOMAIN';

/** Applies `client.<client id>.taskTypes` and `.domains`; a client with neither may work for every pool. */
export class WorkerLimits {
  readonly #options: WorkerLimitsOptions;
  readonly #workflows: ReadonlySet<string>;

  constructor(options: WorkerLimitsOptions) {
    this.#options = options;
    this.#workflows = new Set(options.workflows);
  }

  /**
   * Checks a call by its kind. Admin calls (definitions, executions) cannot be limited to pools or MIS codes, so a
   * client with such limits may make none. A client with MIS codes may make worker calls only if it also has pool
   * limits.
   * @throws Problem `forbidden`
   */
  checkCall(clientId: string, kind: 'worker' | 'admin'): void {
    const { taskTypes, domains, misCodes } = this.#limitsOf(clientId);
    const hasPoolLimits = taskTypes !== undefined || domains !== undefined;
    if (kind === 'admin' ? hasPoolLimits || misCodes !== undefined : misCodes !== undefined && !hasPoolLimits)
      refuse('The configured limits of this client do not allow this call.');
  }

  /** Checks a poll. @throws Problem `forbidden` when the client may not take tasks from this queue */
  checkQueue(clientId: string, name: QueueName): void {
    const reason = this.#reasonAgainst(clientId, name);
    if (reason !== undefined) refuse(reason);
  }

  /** Separates the queues that a client may poll from the queues that it may not poll. */
  sortQueues<Q extends QueueName>(clientId: string, wanted: readonly Q[]): { allowed: Q[]; refused: Q[] } {
    const allowed = wanted.filter((name) => this.#reasonAgainst(clientId, name) === undefined);
    return { allowed, refused: wanted.filter((name) => !allowed.includes(name)) };
  }

  /**
   * Checks a result or a log line: the client must be allowed to poll the task's queue.
   * @param executionId execution id in the result. It must be the id of the task's execution, because the engine
   *   updates the execution that the result names
   * @throws Problem `forbidden`; EngineError when reading an unknown task from the engine fails
   */
  async checkTask(clientId: string, taskId: string, executionId?: string): Promise<void> {
    const { taskTypes, domains } = this.#limitsOf(clientId);
    if (taskTypes === undefined && domains === undefined) return;
    const task = this.#options.recall(taskId) ?? (await this.#findAtEngine(taskId));
    // An unknown task gets the same response as a task of another pool, so that ids cannot be probed.
    const isAllowed =
      task !== undefined &&
      this.#reasonAgainst(clientId, task) === undefined &&
      (executionId === undefined || executionId === task.executionId);
    if (!isAllowed) refuse('This client may not report a result for this task.');
  }

  /** Returns why a client may not take tasks from a queue; undefined when it may. */
  #reasonAgainst(clientId: string, { taskType, domain }: QueueName): string | undefined {
    if (isDirectDomain(domain)) return 'Only routers take tasks of this domain.';
    if (this.#isInternal({ taskType, domain })) return "This is one of the engine's own queues, not a task queue.";
    // A client without these limits may work for every pool.
    const { taskTypes, domains } = this.#limitsOf(clientId);
    const isAllowed = taskTypes?.includes(taskType) !== false && domains?.includes(domain ?? noDomain) !== false;
    return isAllowed ? undefined : 'This client may not take tasks of this type in this task domain.';
  }

  /**
   * True for an internal queue of the engine, which has no tasks for workers. A poll of such a queue would remove its
   * messages, because Conductor's poll takes messages from the queue `<domain>:<task type>` before it looks for a task.
   * The internal queues are `_deciderQueue` (executions to be swept), the queues of system tasks, and
   * `<workflow>:<sink>` (events).
   */
  #isInternal({ taskType, domain = '' }: QueueName): boolean {
    return /:|^_/.test(taskType) || domain.includes(':') || isSystemTask(taskType) || this.#workflows.has(domain);
  }

  #limitsOf(clientId: string) {
    const { config } = this.#options;
    return {
      taskTypes: config[`client.${clientId}.taskTypes`],
      domains: config[`client.${clientId}.domains`],
      misCodes: config[`client.${clientId}.misCodes`],
    };
  }

  /** Reads a task that another router delivered, or that this router delivered before a restart. */
  async #findAtEngine(taskId: string): Promise<PooledTask | undefined> {
    const task = await findTask(this.#options.engine, taskId);
    if (task === undefined) return undefined;
    return {
      taskType: task.taskDefName,
      domain: poolDomain(task.domain ?? undefined),
      executionId: task.workflowInstanceId,
    };
  }
}

function refuse(detail: string): never {
  throw new Problem('forbidden', { detail });
}
