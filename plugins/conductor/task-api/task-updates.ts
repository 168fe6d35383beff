// Reports task results to the engine and wakes the waiters and held polls that each result affects.

import { BoundedMap } from '#lib/gc/bounded.ts';
import type { Engine, EngineResponse } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ExecutionStatus, Task, TaskResult } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { KnownCompletions, KnownCompletion } from '../dispatch/known-completions.ts';
import {
  engineTaskId,
  findTask,
  isPending,
  parseDispatchedTaskId,
  taskPath,
  type TaskReference,
} from '../dispatch/dispatched-task.ts';
import { poolDomain } from '#lib/conductor/executions/direct-domain.ts';
import type { PostponedReads } from '../dispatch/postponed-reads.ts';
import { retryCountOf, returnedByWorker, returnsWithoutTrace } from '../dispatch/repeated-delivery.ts';
import type { CompletedTask, WakeUps } from '../dispatch/wake-ups.ts';
import { memberText, replaceMember, setMember } from './json-members.ts';
import type { QueueName } from '../dispatch/task-queues.ts';
import type { WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

/** A task that this router delivered to a worker. */
interface DeliveredTask extends QueueName {
  executionId: string;
  referenceName: string;
  workflowType: string;
  /** False when the engine may retry the task under the same reference name, so only the task id is unique. */
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
  /**
   * Response for the worker: the engine's own, or one that the router creates in the same format. The result was
   * accepted only if the status is 200.
   */
  response: Pick<EngineResponse, 'status' | 'body'>;
  /** The queue of the task, if this router delivered it. */
  queue: QueueName | undefined;
}

/**
 * Maximum size (bytes) of a result that the engine returns with the execution, or that is sent to another router. For a
 * larger result, a second call costs less.
 */
const maxSmallBytes = 65_536;
/** Maximum number of delivered tasks remembered; the oldest is evicted first. */
const maxRemembered = 20_000;

/** Dependencies of {@link TaskUpdates} besides the engine. */
export interface TaskUpdatesDependencies {
  wakeUps: WakeUps;
  metadata: WorkflowMetadataCache;
  completions: KnownCompletions;
  postponedReads: PostponedReads;
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
      this.#delivered.set(task.taskId, {
        taskType: task.taskDefName,
        domain: poolDomain(task.domain),
        executionId: task.workflowInstanceId,
        referenceName: task.referenceTaskName,
        workflowType: String(task['workflowType'] ?? ''),
        onlyAttempt: retryCountOf(task) === 0,
      });
    }
  }

  /** Returns a delivered task that has not ended; undefined when it is unknown. */
  recall(taskId: string): (QueueName & { executionId: string }) | undefined {
    return this.#delivered.get(taskId);
  }

  /**
   * Reports a result. The engine ignores a second result for the same task, so a worker may report its result again.
   * @param body the TaskResult as the worker sent it; numbers are never reformatted
   * @throws EngineError when the engine is unreachable
   */
  async update(result: TaskResult, body: Buffer): Promise<AcceptedUpdate> {
    const task = this.#delivered.get(result.taskId);
    const reference = parseDispatchedTaskId(result.taskId);
    const { executionId = result.workflowInstanceId } = reference ?? task ?? {};
    // The engine would accept a result that names an execution other than its task's, and the waiters of that execution
    // would get this task's output.
    if (executionId !== result.workflowInstanceId) return { response: notFound(result), queue: task };
    if (result.extendLease === true) return { response: await this.#extendLease(result, body), queue: task };
    const response =
      reference === undefined
        ? await this.#updatePolled(result, body, task)
        : await this.#updateDispatched(result, body, { task, reference });
    return { response, queue: task };
  }

  /**
   * Completes an execution of this router after its task was completed through another router.
   * @returns false when only the engine can tell whether the execution has ended
   */
  completedElsewhere(executionId: string, completed: CompletedTask): boolean {
    const completion = this.#completionBy(executionId, completed);
    if (completion !== undefined) this.#complete(executionId, completion, completed);
    return completion !== undefined;
  }

  #report(result: TaskResult, body: Buffer | string): Promise<EngineResponse> {
    const headers = { 'content-type': 'application/json' };
    const traced = returnsWithoutTrace(result)
      ? setMember(body.toString('utf8'), 'reasonForIncompletion', returnedByWorker)
      : body;
    return this.#engine.request({ method: 'POST', path: '/api/tasks', headers, body: traced });
  }

  /** Returns the completion of an in-flight execution if this task completes it. */
  #completionBy(executionId: string, completed: CompletedTask | undefined): KnownCompletion | undefined {
    const completion = this.#dependencies.completions.get(executionId);
    return completion?.referenceName === completed?.referenceName ? completion : undefined;
  }

  /**
   * Extends the lease of a task, so that the task stays with its worker. The engine ignores the other members of the
   * result, except the ids.
   */
  async #extendLease(result: TaskResult, body: Buffer): Promise<AcceptedUpdate['response']> {
    const taskId = await engineTaskId(this.#engine, result.taskId);
    const response = await this.#report(result, withTaskId(body, taskId));
    return response.status === 200 ? accepted(result) : response;
  }

  /**
   * Reports the result of a dispatched task. The engine's id of the task is unknown, so the engine finds the task by
   * its reference.
   */
  async #updateDispatched(
    result: TaskResult,
    body: Buffer,
    { task, reference }: { task: DeliveredTask | undefined; reference: TaskReference },
  ): Promise<AcceptedUpdate['response']> {
    const response = isPlain(result)
      ? await this.#sendOutput(result, body, { ...reference, form: 'COMPLETED' })
      : await this.#reportById(result, body);
    if (isNotPending(response)) {
      // The result was reported before, or its execution has ended in another way. Only the engine knows which.
      this.#delivered.delete(result.taskId);
      this.#dependencies.wakeUps.executionChanged(result.workflowInstanceId, {});
      return accepted(result);
    }
    if (response.status !== 200) return response;
    if (result.status === 'IN_PROGRESS')
      this.#dependencies.postponedReads.dispatchAfter(result.callbackAfterSeconds ?? 0, result.taskId);
    else this.#delivered.delete(result.taskId);
    this.#wake(result, body, { task, completed: completedTask(result, reference.referenceName) });
    // The engine responds with its own id for the task, which the worker does not know.
    return accepted(result);
  }

  /** Reports the result of a polled task. */
  async #updatePolled(
    result: TaskResult,
    body: Buffer,
    task: DeliveredTask | undefined,
  ): Promise<AcceptedUpdate['response']> {
    if (task !== undefined && (await this.#completeByReference(result, body, task))) return accepted(result);
    const response = await this.#report(result, body);
    if (response.status !== 200) return response;
    if (result.status !== 'IN_PROGRESS') this.#delivered.delete(result.taskId);
    // The engine responds in the same way when it has ignored the result, so waiters read the status of the execution.
    this.#dependencies.wakeUps.executionChanged(result.workflowInstanceId, {});
    if (task !== undefined) this.#wakeByDefinition(task, completedTask(result, task.referenceName));
    return response;
  }

  /**
   * Completes a polled task by its reference. Unlike the response to a report by id, the response to this call shows
   * whether the task was pending.
   * @returns false when the task cannot be completed by its reference, or when the engine has not accepted the result
   */
  async #completeByReference(result: TaskResult, body: Buffer, task: DeliveredTask): Promise<boolean> {
    const completed = completedTask(result, task.referenceName);
    if (completed === undefined || !task.onlyAttempt || !isPlain(result)) return false;
    // The synchronous form of the call returns the execution, which saves a read when the completion is not known.
    const isKnown = this.#completionBy(task.executionId, completed) !== undefined;
    if (!isKnown && !isSmall(body)) return false;
    const form = isKnown ? 'COMPLETED' : 'COMPLETED/sync';
    const response = await this.#sendOutput(result, body, { ...task, form });
    if (response.status !== 200 || isNotPending(response)) return false;
    this.#delivered.delete(result.taskId);
    if (isKnown) this.#wake(result, body, { task, completed });
    else this.#wakeByExecution(task.executionId, parseResponse<UpdatedExecution>(response));
    return true;
  }

  /**
   * Completes a task by its reference, using one of Conductor's short forms of the update call. The output is sent
   * unchanged.
   */
  #sendOutput(
    result: TaskResult,
    body: Buffer,
    { form, ...reference }: TaskReference & { form: 'COMPLETED' | 'COMPLETED/sync' },
  ): Promise<EngineResponse> {
    // Latin-1 maps each byte to one character, so the output is not decoded from UTF-8 and encoded again.
    const output = result.outputData == null ? '{}' : memberText(body.toString('latin1'), 'outputData');
    return this.#engine.request({
      method: 'POST',
      path: `/api/tasks/${taskPath(reference)}/${form}${workerOf(result)}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(output ?? '{}', 'latin1'),
    });
  }

  /**
   * Reports a result of a dispatched task for which `isPlain` is false. The call needs the engine's task id, which is
   * read first.
   */
  async #reportById(result: TaskResult, body: Buffer): Promise<AcceptedUpdate['response']> {
    const pending = await findTask(this.#engine, result.taskId);
    if (pending === undefined || !isPending(pending)) return notFound(result);
    return this.#report(result, withTaskId(body, pending.taskId));
  }

  /** Wakes the waiters of an execution after the engine has accepted a result for its pending task. */
  #wake(
    { workflowInstanceId }: TaskResult,
    body: Buffer,
    { task, completed }: { task: DeliveredTask | undefined; completed: CompletedTask | undefined },
  ): void {
    const completion = this.#completionBy(workflowInstanceId, completed);
    if (completed !== undefined && completion !== undefined)
      return this.#complete(workflowInstanceId, completion, completed);
    this.#dependencies.wakeUps.executionChanged(workflowInstanceId, isSmall(body) ? { completed } : {});
    if (task !== undefined) this.#wakeByDefinition(task, completed);
  }

  #complete(workflowId: string, completion: KnownCompletion, { output }: CompletedTask): void {
    const status = { workflowId, status: 'COMPLETED', output: completion.outputOf(output) } as const;
    this.#dependencies.wakeUps.executionChanged(workflowId, { status });
    for (const event of completion.events) this.#expectEvent(event);
  }

  /**
   * Wakes waiters and held polls according to the execution that the engine has returned, which names exactly the tasks
   * that follow.
   */
  #wakeByExecution(executionId: string, execution: UpdatedExecution): void {
    const { wakeUps } = this.#dependencies;
    const { tasks = [], workflowId, status, output = {} } = execution;
    const { reasonForIncompletion = '', lastRetriedTime = 0 } = execution;
    // The input is left out: it holds the request, and with several routers a wake-up is a message in Redis.
    const reduced = { workflowId, status, output, reasonForIncompletion, lastRetriedTime };
    wakeUps.executionChanged(executionId, { status: reduced });
    const scheduled = tasks.filter((task) => task.status === 'SCHEDULED');
    wakeUps.tasksAppeared(scheduled.map(({ taskDefName, domain }) => ({ taskType: taskDefName, domain })));
    for (const { taskType, outputData } of tasks) {
      if (taskType === 'EVENT' && typeof outputData?.['event_produced'] === 'string')
        this.#expectEvent(outputData['event_produced']);
    }
  }

  /**
   * Wakes held polls according to the workflow definition, because the engine's response does not name the tasks that
   * follow.
   */
  #wakeByDefinition(task: DeliveredTask, completed: CompletedTask | undefined): void {
    const { wakeUps, metadata } = this.#dependencies;
    for (const event of this.#completionBy(task.executionId, completed)?.events ?? []) this.#expectEvent(event);
    if (task.workflowType === '') return;
    metadata.taskTypesAfter(task.workflowType, completed?.referenceName).then(
      (taskTypes) => wakeUps.tasksAppeared(taskTypes.map((taskType) => ({ taskType, domain: task.domain }))),
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

  /**
   * Logs that the tasks that follow a result are not known. A missed announcement delays a task by at most the pause
   * between two fetches of an idle queue.
   */
  #logUnknown(error: unknown): void {
    this.#dependencies.log.debug(errorFields(error), 'could not determine the tasks that follow a result');
  }
}

/** Returns the task that a result completes; undefined for any other result. */
function completedTask(
  { status, outputData }: TaskResult,
  referenceName: string | undefined,
): CompletedTask | undefined {
  if (status !== 'COMPLETED' || referenceName === undefined) return undefined;
  return { referenceName, output: outputData ?? {} };
}

/** True for a result that consists only of COMPLETED and an output. SDKs may send the other members empty. */
function isPlain({ status, reasonForIncompletion, logs }: TaskResult): boolean {
  if (status !== 'COMPLETED' || (reasonForIncompletion ?? '') !== '') return false;
  return !Array.isArray(logs) || logs.length === 0;
}

function isSmall(body: Buffer): boolean {
  return body.length <= maxSmallBytes;
}

function workerOf({ workerId }: TaskResult): string {
  return workerId == null ? '' : `?workerid=${encodeURIComponent(workerId)}`;
}

/** Returns the result with another task id. */
function withTaskId(body: Buffer, taskId: string): string {
  return replaceMember(body.toString('utf8'), 'taskId', taskId);
}

/**
 * True when the engine has no pending task for a result and has ignored the result. Conductor responds with 200 and the
 * task's id when it has accepted a result by reference, and without a body when it has not.
 */
function isNotPending({ status, body }: AcceptedUpdate['response']): boolean {
  return status === 204 || status === 404 || (status === 200 && body.length === 0);
}

/** Returns a response like that of the engine to an accepted result. */
function accepted({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return { status: 200, body: Buffer.from(taskId) };
}

function notFound({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return {
    status: 404,
    body: Buffer.from(JSON.stringify({ status: 404, message: `No such task found by id: ${taskId}` })),
  };
}
