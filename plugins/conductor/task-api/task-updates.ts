// Reports task results to the engine and wakes the waiters and held polls that each result affects.

import { BoundedMap } from '#lib/gc/bounded.ts';
import type { Engine, EngineResponse } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ExecutionStatus, Task, TaskResult } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { InFlightExecutions, KnownCompletion } from '../dispatch/in-flight-executions.ts';
import { findTask, taskPath, parseDispatchedTaskId, type TaskReference } from '../dispatch/dispatched-task.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { memberText, replaceMember } from './json-members.ts';
import type { QueueName, TaskQueues } from '../dispatch/task-queues.ts';
import type { WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

/** A task that this router delivered to a worker. */
interface DeliveredTask extends QueueName {
  executionId: string;
  referenceName: string;
  workflowType: string;
  workflowVersion: number;
  /** False when the engine may retry the task under the same reference name, so that only the id is unique. */
  onlyAttempt: boolean;
}

/** The execution as Conductor's synchronous task update returns it. */
interface UpdatedExecution extends ExecutionStatus {
  tasks?: {
    taskType: string;
    taskDefName: string;
    status: string;
    domain?: string;
    outputData?: Record<string, unknown>;
  }[];
}

/** The outcome of reporting a result. */
export interface AcceptedUpdate {
  /** The engine's response; it has accepted the result only with status 200. */
  response: Pick<EngineResponse, 'status' | 'body'>;
  /** The queue of the task, if this router delivered it. */
  queue: QueueName | undefined;
}

/** Beyond this size (bytes), rewriting a result and returning it with the execution costs more than a second call. */
const maxPlainUpdateBytes = 65_536;
/** Most delivered tasks remembered; the oldest is evicted first. */
const maxRemembered = 20_000;

/** What {@link TaskUpdates} depends on besides the engine. */
export interface TaskUpdatesDependencies {
  wakeUps: WakeUps;
  metadata: WorkflowMetadataCache;
  inFlight: InFlightExecutions;
  queues: TaskQueues;
  log: Logger;
}

/** Reports results and remembers delivered tasks. */
export class TaskUpdates {
  readonly #engine: Engine;
  readonly #dependencies: TaskUpdatesDependencies;
  readonly #delivered = new BoundedMap<string, DeliveredTask>(maxRemembered);

  constructor(engine: Engine, dependencies: TaskUpdatesDependencies) {
    this.#engine = engine;
    this.#dependencies = dependencies;
  }

  /** Remembers tasks that are sent to a worker. */
  remember(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { taskDefinition } = (task['workflowTask'] ?? {}) as { taskDefinition?: { retryCount?: number } };
      this.#delivered.set(task.taskId, {
        taskType: task.taskDefName,
        domain: task.domain,
        executionId: task.workflowInstanceId,
        referenceName: task.referenceTaskName,
        workflowType: String(task['workflowType'] ?? ''),
        workflowVersion: Number((task['workflowVersion'] as number | undefined) ?? 1),
        onlyAttempt: taskDefinition?.retryCount === 0,
      });
    }
  }

  /** Returns a delivered task that has not ended; undefined when it is unknown. */
  recall(taskId: string): (QueueName & { executionId: string }) | undefined {
    return this.#delivered.get(taskId);
  }

  /**
   * Reports a result. The engine ignores a second result of the same task, so workers may repeat it.
   * @param body the TaskResult as the worker sent it; numbers are never reformatted
   * @throws EngineError when the engine is unreachable
   */
  async update(result: TaskResult, body: Buffer): Promise<AcceptedUpdate> {
    const task = this.#delivered.get(result.taskId);
    const reference = parseDispatchedTaskId(result.taskId);
    if (reference !== undefined) return this.#updateDispatched(result, body, reference);
    // The engine would accept the result, and waiters of the other execution would get its output.
    if (task !== undefined && task.executionId !== result.workflowInstanceId)
      return { response: notFound(result), queue: task };
    const completion = this.#knownCompletion(result, task?.referenceName);
    if (completion === undefined) {
      const execution = await this.#updateSynchronously(result, body, task);
      if (execution !== null) {
        this.#delivered.delete(result.taskId);
        this.#wakeByExecution(result.workflowInstanceId, execution);
        return { response: accepted(result), queue: task };
      }
    }
    const response = await this.#report(body);
    if (response.status === 200) {
      if (result.status !== 'IN_PROGRESS') this.#delivered.delete(result.taskId);
      this.#wake(result, { task, end: completion });
    }
    return { response, queue: task };
  }

  #report(body: Buffer | string): Promise<EngineResponse> {
    const headers = { 'content-type': 'application/json' };
    return this.#engine.request({ method: 'POST', path: '/api/tasks', headers, body });
  }

  /** Returns the completion of an in-flight execution if this result completes it. */
  #knownCompletion(result: TaskResult, referenceName: string | undefined): KnownCompletion | undefined {
    const completion = this.#dependencies.inFlight.get(result.workflowInstanceId);
    return completion?.referenceName === referenceName && result.status === 'COMPLETED' ? completion : undefined;
  }

  /** Reports the result of a dispatched task. Its engine id is unknown, so the engine finds it by its reference. */
  async #updateDispatched(result: TaskResult, body: Buffer, reference: TaskReference): Promise<AcceptedUpdate> {
    const { queues } = this.#dependencies;
    const task = this.#delivered.get(result.taskId);
    if (reference.executionId !== result.workflowInstanceId) return { response: notFound(result), queue: task };
    const response = isPlain(result, body)
      ? await this.#completeByReference(result, body, reference)
      : await this.#reportById(result, body);
    if (response.status !== 200) return { response, queue: task };
    this.#delivered.delete(result.taskId);
    if (task !== undefined)
      queues.confirmDispatch(task, result.taskId, ({ taskId }) => this.#reportAgain(result, body, taskId));
    this.#wake(result, { task, end: this.#knownCompletion(result, reference.referenceName) });
    // The engine responds with its own id of the task, which the worker does not know.
    return { response: accepted(result), queue: task };
  }

  /**
   * Reports a result again, under the engine's id. The engine may have stored a concurrent poll after the result, which
   * leaves the task in progress. Otherwise the engine ignores the second result.
   */
  #reportAgain(result: TaskResult, body: Buffer, taskId: string): void {
    const failed = (fields: object) =>
      this.#dependencies.log.warn(
        { executionId: result.workflowInstanceId, ...fields },
        'could not confirm a result: the execution may end as timed out',
      );
    this.#report(withTaskId(body, taskId)).then(
      ({ status }) => status === 200 || failed({ status }),
      (error: unknown) => failed(errorFields(error)),
    );
  }

  async #completeByReference(
    result: TaskResult,
    body: Buffer,
    reference: TaskReference,
  ): Promise<AcceptedUpdate['response']> {
    const response = await this.#complete(result, body, { ...reference, form: 'COMPLETED' });
    // The task is no longer pending: the engine ignores such results.
    return response.status === 204 || response.status === 404 ? accepted(result) : response;
  }

  /** Completes a task by its reference, with Conductor's short forms of an update. The output is sent unchanged. */
  #complete(
    result: TaskResult,
    body: Buffer,
    { form, ...reference }: TaskReference & { form: 'COMPLETED' | 'COMPLETED/sync' },
  ): Promise<EngineResponse> {
    // Latin-1 maps each byte to one character, so that the output is not decoded and encoded.
    const output = result.outputData == null ? '{}' : memberText(body.toString('latin1'), 'outputData');
    return this.#engine.request({
      method: 'POST',
      path: `/api/tasks/${taskPath(reference)}/${form}${workerOf(result)}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(output ?? '{}', 'latin1'),
    });
  }

  /** Reports any other result by the engine's task id, which is read first. */
  async #reportById(result: TaskResult, body: Buffer): Promise<AcceptedUpdate['response']> {
    const pending = await findTask(this.#engine, result.taskId);
    if (pending === undefined) return accepted(result);
    return this.#report(withTaskId(body, pending.taskId));
  }

  /** Completes a task and gets the execution in one call, which saves a read. Null when that is not possible. */
  async #updateSynchronously(
    result: TaskResult,
    body: Buffer,
    task: DeliveredTask | undefined,
  ): Promise<UpdatedExecution | null> {
    if (task === undefined || !task.onlyAttempt) return null;
    if (!isPlain(result, body)) return null;
    const response = await this.#complete(result, body, { ...task, form: 'COMPLETED/sync' });
    if (response.status !== 200) return null;
    return parseResponse<UpdatedExecution>(response);
  }

  #wake(
    result: TaskResult,
    { task, end: completion }: { task: DeliveredTask | undefined; end: KnownCompletion | undefined },
  ): void {
    if (completion === undefined) return this.#wakeByDefinition(result, task);
    const output = completion.outputOf(result.outputData ?? {});
    const workflowId = result.workflowInstanceId;
    this.#dependencies.wakeUps.executionChanged(workflowId, { workflowId, status: 'COMPLETED', output });
    for (const event of completion.events) this.#expectEvent(event);
  }

  /** The returned execution names exactly the tasks that follow. */
  #wakeByExecution(executionId: string, execution: UpdatedExecution): void {
    const { wakeUps } = this.#dependencies;
    const { tasks = [], ...status } = execution;
    wakeUps.executionChanged(executionId, status);
    const scheduled = tasks.filter((task) => task.status === 'SCHEDULED');
    wakeUps.tasksAppeared(scheduled.map(({ taskDefName, domain }) => ({ taskType: taskDefName, domain })));
    for (const { taskType, outputData } of tasks) {
      if (taskType === 'EVENT' && typeof outputData?.['event_produced'] === 'string')
        this.#expectEvent(outputData['event_produced']);
    }
  }

  /** The engine only accepted the result: any task of the definition may follow. */
  #wakeByDefinition(result: TaskResult, task: DeliveredTask | undefined): void {
    const { wakeUps, metadata } = this.#dependencies;
    wakeUps.executionChanged(result.workflowInstanceId);
    if (task === undefined || task.workflowType === '') return;
    metadata.metadataOf(task.workflowType, task.workflowVersion).then(
      ({ taskTypes }) => wakeUps.tasksAppeared(taskTypes.map((taskType) => ({ taskType, domain: task.domain }))),
      (error: unknown) => this.#logUnknown(error),
    );
  }

  #expectEvent(event: string): void {
    const { wakeUps, metadata } = this.#dependencies;
    metadata.queuesOfEvent(event).then(
      (names) => wakeUps.tasksExpected(names),
      (error: unknown) => this.#logUnknown(error),
    );
  }

  /** A missed announcement delays a task by at most one idle pause. */
  #logUnknown(error: unknown): void {
    this.#dependencies.log.debug(errorFields(error), 'could not determine the tasks that follow a result');
  }
}

/** True for a small result that consists only of COMPLETED and an output. */
function isPlain(result: TaskResult, body: Buffer): boolean {
  const { status, reasonForIncompletion, logs } = result;
  if (body.length > maxPlainUpdateBytes) return false;
  if (status !== 'COMPLETED' || reasonForIncompletion !== undefined) return false;
  return !Array.isArray(logs) || logs.length === 0;
}

function workerOf({ workerId }: TaskResult): string {
  return workerId === undefined ? '' : `?workerid=${encodeURIComponent(workerId)}`;
}

/** The result with another task id. */
function withTaskId(body: Buffer, taskId: string): string {
  return replaceMember(body.toString('utf8'), 'taskId', taskId);
}

/** The engine's response to an accepted result. */
function accepted({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return { status: 200, body: Buffer.from(taskId) };
}

function notFound({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return {
    status: 404,
    body: Buffer.from(JSON.stringify({ status: 404, message: `No such task found by id: ${taskId}` })),
  };
}
