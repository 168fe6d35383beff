// Task results on their way to the engine: passed on, and everybody who waits for what they change is woken.

import { TransientMap } from '#lib/gc/transient-map.ts';
import type { Engine, EngineResponse } from '#lib/conductor/engine.ts';
import { parseResponse } from '#lib/conductor/read-response.ts';
import type { ExecutionStatus, Task, TaskResult } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import type { InFlightExecutions, KnownEnd } from '../dispatch/in-flight-executions.ts';
import { findTask, pathOf, placeOf, type TaskPlace } from '../dispatch/dispatched-task.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { memberText, replaceMember } from './json-members.ts';
import type { QueueName, TaskQueues } from '../dispatch/task-queues.ts';
import type { WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

/** What is remembered of a task that was handed out here. */
interface HandedOut extends QueueName {
  executionId: string;
  referenceName: string;
  workflowType: string;
  workflowVersion: number;
  /** False when the engine may schedule the task again under the same name: then only its id is exact. */
  onlyAttempt: boolean;
}

/** The whole execution, as the engine's synchronous update returns it. */
interface UpdatedExecution extends ExecutionStatus {
  tasks?: {
    taskType: string;
    taskDefName: string;
    status: string;
    domain?: string;
    outputData?: Record<string, unknown>;
  }[];
}

/** A result that was passed on. */
export interface AcceptedUpdate {
  /** The engine's own answer; anything but 200 was not accepted. */
  response: Pick<EngineResponse, 'status' | 'body'>;
  /** The queue the task came from, when it was handed out here. */
  queue: QueueName | undefined;
}

/** Beyond this size in bytes reading and writing a result again, and what repeats it, costs more than a second call. */
const largestPlainUpdate = 65_536;
/** Tasks remembered; the oldest is forgotten first. */
const mostRemembered = 20_000;

export interface TaskUpdatesDependencies {
  hints: WakeUps;
  shapes: WorkflowMetadataCache;
  underWay: InFlightExecutions;
  queues: TaskQueues;
  log: Logger;
}

export class TaskUpdates {
  readonly #engine: Engine;
  readonly #parts: TaskUpdatesDependencies;
  readonly #handedOut = new TransientMap<string, HandedOut>();

  constructor(engine: Engine, parts: TaskUpdatesDependencies) {
    this.#engine = engine;
    this.#parts = parts;
  }

  /** Remembers tasks that leave for a worker. */
  remember(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { taskDefinition } = (task['workflowTask'] ?? {}) as { taskDefinition?: { retryCount?: number } };
      this.#handedOut.set(task.taskId, {
        taskType: task.taskDefName,
        domain: task.domain,
        executionId: task.workflowInstanceId,
        referenceName: task.referenceTaskName,
        workflowType: String(task['workflowType'] ?? ''),
        workflowVersion: Number((task['workflowVersion'] as number | undefined) ?? 1),
        onlyAttempt: taskDefinition?.retryCount === 0,
      });
    }
    while (this.#handedOut.size > mostRemembered) this.#handedOut.delete(this.#handedOut.keys().next().value as string);
  }

  /** A task that was handed out here and has not ended; undefined when it is not known. */
  recall(taskId: string): (QueueName & { executionId: string }) | undefined {
    return this.#handedOut.get(taskId);
  }

  /**
   * Passes a result on. The engine ignores a second result for the same task, so a worker may repeat it.
   * @param body the TaskResult as the worker wrote it; numbers are never rewritten
   * @throws EngineError when the engine cannot be reached
   */
  async update(result: TaskResult, body: Buffer): Promise<AcceptedUpdate> {
    const task = this.#handedOut.get(result.taskId);
    const place = placeOf(result.taskId);
    if (place !== undefined) return this.#updateHandedOver(result, body, place);
    // The engine would take it, and whoever waits for that other execution would be answered with it.
    if (task !== undefined && task.executionId !== result.workflowInstanceId)
      return { response: notFound(result), queue: task };
    const end = this.#knownEnd(result, task?.referenceName);
    if (end === undefined) {
      const execution = await this.#updateSynchronously(result, body, task);
      if (execution !== null) {
        this.#handedOut.delete(result.taskId);
        this.#wakeByExecution(result.workflowInstanceId, execution);
        return { response: accepted(result), queue: task };
      }
    }
    const response = await this.#report(body);
    if (response.status === 200) {
      if (result.status !== 'IN_PROGRESS') this.#handedOut.delete(result.taskId);
      this.#wake(result, { task, end });
    }
    return { response, queue: task };
  }

  #report(body: Buffer | string): Promise<EngineResponse> {
    const headers = { 'content-type': 'application/json' };
    return this.#engine.request({ method: 'POST', path: '/api/tasks', headers, body });
  }

  /** The end of the execution under way that this result brings, whatever the engine will say of it. */
  #knownEnd(result: TaskResult, referenceName: string | undefined): KnownEnd | undefined {
    const end = this.#parts.underWay.get(result.workflowInstanceId);
    return end?.referenceName === referenceName && result.status === 'COMPLETED' ? end : undefined;
  }

  /** A task that nobody polled has no id here: the engine finds it by its place. */
  async #updateHandedOver(result: TaskResult, body: Buffer, place: TaskPlace): Promise<AcceptedUpdate> {
    const { queues } = this.#parts;
    const task = this.#handedOut.get(result.taskId);
    if (place.executionId !== result.workflowInstanceId) return { response: notFound(result), queue: task };
    const response = isPlain(result, body)
      ? await this.#completeByPlace(result, body, place)
      : await this.#reportById(result, body);
    if (response.status !== 200) return { response, queue: task };
    this.#handedOut.delete(result.taskId);
    if (task !== undefined) queues.settle(task, result.taskId, ({ taskId }) => this.#confirm(result, body, taskId));
    this.#wake(result, { task, end: this.#knownEnd(result, place.referenceName) });
    // The engine answers with the id it knows the task by.
    return { response: accepted(result), queue: task };
  }

  /**
   * Sends a result once more, under the engine's id: a poll that crossed it may have been written down last, and the
   * task would count as in progress. Where that is not so the engine ignores the second result.
   */
  #confirm(result: TaskResult, body: Buffer, taskId: string): void {
    const failed = (fields: object) =>
      this.#parts.log.warn(
        { executionId: result.workflowInstanceId, ...fields },
        'a result was not confirmed: the execution may end as timed out',
      );
    this.#report(withTaskId(body, taskId)).then(
      ({ status }) => status === 200 || failed({ status }),
      (error: unknown) => failed(errorFields(error)),
    );
  }

  async #completeByPlace(result: TaskResult, body: Buffer, place: TaskPlace): Promise<AcceptedUpdate['response']> {
    const response = await this.#complete(result, body, { ...place, form: 'COMPLETED' });
    // No task is pending there any more: the engine ignores such results, under whatever name they come.
    return response.status === 204 || response.status === 404 ? accepted(result) : response;
  }

  /** The engine's own forms of a plain completion, which name the task by its place. The output goes as it was written. */
  #complete(
    result: TaskResult,
    body: Buffer,
    { form, ...place }: TaskPlace & { form: 'COMPLETED' | 'COMPLETED/sync' },
  ): Promise<EngineResponse> {
    // One character a byte: what is between them is not decoded and encoded again.
    const output = result.outputData == null ? '{}' : memberText(body.toString('latin1'), 'outputData');
    return this.#engine.request({
      method: 'POST',
      path: `/api/tasks/${pathOf(place)}/${form}${workerOf(result)}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(output ?? '{}', 'latin1'),
    });
  }

  /** Everything but a plain completion goes by the task's own id, which has to be asked for. */
  async #reportById(result: TaskResult, body: Buffer): Promise<AcceptedUpdate['response']> {
    const pending = await findTask(this.#engine, result.taskId);
    if (pending === undefined) return accepted(result);
    return this.#report(withTaskId(body, pending.taskId));
  }

  /** One call that updates and returns the execution saves the read that would follow. Null when it does not apply. */
  async #updateSynchronously(
    result: TaskResult,
    body: Buffer,
    task: HandedOut | undefined,
  ): Promise<UpdatedExecution | null> {
    if (task === undefined || !task.onlyAttempt) return null;
    if (!isPlain(result, body)) return null;
    const response = await this.#complete(result, body, { ...task, form: 'COMPLETED/sync' });
    if (response.status !== 200) return null;
    return parseResponse<UpdatedExecution>(response);
  }

  #wake(result: TaskResult, { task, end }: { task: HandedOut | undefined; end: KnownEnd | undefined }): void {
    if (end === undefined) return this.#wakeByDefinition(result, task);
    const output = end.outputOf(result.outputData ?? {});
    const workflowId = result.workflowInstanceId;
    this.#parts.hints.executionChanged(workflowId, { workflowId, status: 'COMPLETED', output });
    for (const event of end.events) this.#expectEvent(event);
  }

  /** The engine's answer names exactly what follows. */
  #wakeByExecution(executionId: string, execution: UpdatedExecution): void {
    const { hints } = this.#parts;
    const { tasks = [], ...status } = execution;
    hints.executionChanged(executionId, status);
    const scheduled = tasks.filter((task) => task.status === 'SCHEDULED');
    hints.tasksAppeared(scheduled.map(({ taskDefName, domain }) => ({ taskType: taskDefName, domain })));
    for (const { taskType, outputData } of tasks) {
      if (taskType === 'EVENT' && typeof outputData?.['event_produced'] === 'string')
        this.#expectEvent(outputData['event_produced']);
    }
  }

  /** The engine said only "accepted": whatever the definition allows may follow. */
  #wakeByDefinition(result: TaskResult, task: HandedOut | undefined): void {
    const { hints, shapes } = this.#parts;
    hints.executionChanged(result.workflowInstanceId);
    if (task === undefined || task.workflowType === '') return;
    shapes.outline(task.workflowType, task.workflowVersion).then(
      ({ taskTypes }) => hints.tasksAppeared(taskTypes.map((taskType) => ({ taskType, domain: task.domain }))),
      (error: unknown) => this.#ignored(error),
    );
  }

  #expectEvent(event: string): void {
    const { hints, shapes } = this.#parts;
    shapes.queuesOfEvent(event).then(
      (names) => hints.tasksExpected(names),
      (error: unknown) => this.#ignored(error),
    );
  }

  /** A missed announcement costs at most one idle pause. */
  #ignored(error: unknown): void {
    this.#parts.log.debug(errorFields(error), 'what follows an update is not known');
  }
}

/** True for a small result that says nothing but "completed, with this output". */
function isPlain(result: TaskResult, body: Buffer): boolean {
  const { status, reasonForIncompletion, logs } = result;
  if (body.length > largestPlainUpdate) return false;
  if (status !== 'COMPLETED' || reasonForIncompletion !== undefined) return false;
  return !Array.isArray(logs) || logs.length === 0;
}

function workerOf({ workerId }: TaskResult): string {
  return workerId === undefined ? '' : `?workerid=${encodeURIComponent(workerId)}`;
}

/** The report with another id. */
function withTaskId(body: Buffer, taskId: string): string {
  return replaceMember(body.toString('utf8'), 'taskId', taskId);
}

/** The engine's own answer to a result it has taken. */
function accepted({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return { status: 200, body: Buffer.from(taskId) };
}

function notFound({ taskId }: TaskResult): AcceptedUpdate['response'] {
  return {
    status: 404,
    body: Buffer.from(JSON.stringify({ status: 404, message: `No such task found by id: ${taskId}` })),
  };
}
