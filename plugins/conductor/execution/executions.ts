// Starts an execution of a pinned workflow version, waits until it has ended, and terminates reads for which nobody
// waits.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionStatus, StartWorkflowRequest, Task } from '#lib/conductor/types.ts';
import type { ExecutionRecorder, StartRecord } from '#lib/records/recorder.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { responseDeadlineSpent, withLinks } from './response.ts';
import type { LinksOf } from './links.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import { directDomain } from '#lib/conductor/executions/direct-domain.ts';
import type { DirectDispatch } from '../dispatch/direct-dispatch.ts';
import type { QueueName, TaskQueues } from '../dispatch/task-queues.ts';
import type { KnownCompletions } from '../dispatch/known-completions.ts';
import { createDispatchedTask } from '../dispatch/dispatched-task.ts';
import { engineUnavailable } from './engine-unavailable.ts';
import { startProblem } from './start-problem.ts';
import { clientGoneReason, deadlineReason } from './terminations.ts';
import { before, lateReadMs, remainingMs } from './time-limits.ts';
import type { CompletionWaiters } from '../dispatch/completion-waiters.ts';
import type { WorkflowMetadata } from '../dispatch/workflow-metadata.ts';
import { queueOf, type WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

/** Dependencies for starting executions and waiting for them. Most are shared state of the plugin. */
export interface ExecutionDependencies {
  engine: Engine;
  waiters: CompletionWaiters;
  queues: TaskQueues;
  wakeUps: WakeUps;
  metadata: WorkflowMetadataCache;
  completions: KnownCompletions;
  /** Names of the workflows that clients start, including those of previous configurations. */
  workflows: Set<string>;
  /** Ids of executions whose client is waiting at this router and does not know the id yet. */
  awaited: Set<string>;
  /** Finds and reads executions in the engine. */
  executions: ExecutionApi;
  recorder: ExecutionRecorder;
  directDispatch: DirectDispatch;
  /** True when tasks may be dispatched directly (`conductor.directDispatch`). */
  dispatchesDirectly: boolean;
  log: Logger;
  /** Aborts when the router starts to drain; no execution starts afterwards. */
  draining: AbortSignal;
}

/** How long a request waits for its execution, and what happens afterwards. */
export interface WaitOptions {
  /** Longest wait in milliseconds from the arrival of the request, as responses report it to the client; 0: no wait. */
  waitMs: number;
  /** When the wait ends, by performance.now(). */
  deadlineAt: number;
  /** True for safe methods, whose executions can be terminated without harm. */
  readOnly: boolean;
  /** Aborts when the client disconnects. */
  clientGone: AbortSignal;
  /**
   * True when, after the deadline, the execution continues and the client gets links to retrieve the response later.
   */
  respondsAsync: boolean;
  linksOf: LinksOf;
}

/** Options of {@link startExecution}. `deadlineAt` limits the start; a shorter preferred `wait` does not change it. */
export interface StartOptions extends Pick<WaitOptions, 'deadlineAt' | 'readOnly' | 'respondsAsync'> {
  /** True when requests with the same Idempotency-Key may learn the execution's id before the execution has ended. */
  isKeyed: boolean;
}

/** Longest wait for definitions before or after a start (milliseconds), when they are not cached. */
const maxMetadataMs = 500;

/**
 * An execution that the engine has started for a request, and the functions that clean up after its wait.
 */
export interface StartedExecution {
  readonly executionId: string;
  /** Deletes the entries that exist while the client waits for the execution. */
  forget(): void;
  /**
   * Stops the delivery of the execution's first task to workers; undefined when workers poll the engine for the task.
   */
  readonly cancelDispatch: (() => void) | undefined;
}

/**
 * Starts an execution and delivers its first task: directly to a worker, or by waking the held polls of its queue.
 * @throws Problem from {@link startProblem}: 503, or 504 `outcome-unknown` when the engine may have started the
 *   execution
 */
export async function startExecution(
  request: StartWorkflowRequest,
  { readOnly, deadlineAt, respondsAsync, isKeyed }: StartOptions,
  dependencies: ExecutionDependencies,
): Promise<StartedExecution> {
  const { wakeUps, metadata, completions, awaited, directDispatch } = dependencies;
  const plan = readOnly && !respondsAsync ? await planDispatch(request, deadlineAt, dependencies) : undefined;
  const planned = plan === undefined ? request : { ...request, taskToDomain: plan.taskToDomain };
  const executionId = await startRecorded(planned, { deadlineAt, readOnly, isKeyed }, dependencies);
  if (!respondsAsync && !isKeyed) awaited.add(executionId);
  // Without the metadata, the execution only takes longer, so the router waits only briefly for a slow engine to return
  // the metadata.
  const knownBy = Math.min(deadlineAt, performance.now() + maxMetadataMs);
  const workflow = plan?.workflow ?? (await before(knownBy, metadata.metadataOf(request.name, request.version)));
  const first = workflow?.first;
  if (first?.last !== undefined) {
    const { outputOf, eventsOf } = first.last;
    completions.set(executionId, { referenceName: first.referenceName, outputOf, events: eventsOf(request.input) });
  }
  const forget = () => {
    completions.delete(executionId);
    awaited.delete(executionId);
  };
  if (plan !== undefined) {
    const task = plan.taskOf(executionId);
    directDispatch.dispatch(plan.queue, task);
    return { executionId, forget, cancelDispatch: () => directDispatch.cancel(plan.queue, task.taskId) };
  }
  // The engine has queued the first task by now.
  const types = workflow?.taskTypes.slice(0, 1) ?? [];
  wakeUps.tasksAppeared(types.map((taskType) => queueOf(taskType, request.taskToDomain)));
  return { executionId, forget, cancelDispatch: undefined };
}

/** Starts an execution and records the start before and after the call. @throws Problem as in {@link startExecution} */
async function startRecorded(
  request: StartWorkflowRequest,
  { readOnly, deadlineAt, isKeyed }: Omit<StartOptions, 'respondsAsync'>,
  { engine, executions, recorder }: ExecutionDependencies,
): Promise<string> {
  const record = await recordStart(request, { isLookedUp: !readOnly || isKeyed }, recorder);
  const startedAt = Date.now();
  try {
    const executionId = await engine.startWorkflow(request, remainingMs(deadlineAt));
    record.started(executionId);
    return executionId;
  } catch (error) {
    const problem = await startProblem(error, { request, readOnly, startedAt, deadlineAt }, executions);
    if (problem.status === 503 && !readOnly) record.notStarted();
    throw problem;
  }
}

/** Records a start before it is sent. @throws Problem `engine-unavailable` (503): nothing is sent */
async function recordStart(
  request: StartWorkflowRequest,
  options: Parameters<ExecutionRecorder['starting']>[1],
  recorder: ExecutionRecorder,
): Promise<StartRecord> {
  try {
    return await recorder.starting(request, options);
  } catch (error) {
    throw error instanceof EngineError ? engineUnavailable(error) : error;
  }
}

/** A plan for delivering the first task of an execution to a worker without polling the engine. */
interface DispatchPlan {
  readonly workflow: WorkflowMetadata;
  readonly queue: QueueName;
  /** Makes the engine keep the task in a queue that no worker polls. */
  readonly taskToDomain: Record<string, string>;
  readonly taskOf: (executionId: string) => Task;
}

/**
 * Plans the direct dispatch of the first task. Until the result of the task arrives, the engine keeps the task in a
 * queue that is polled only by searches for lost tasks. Such a search can deliver a task twice, so only reads are
 * dispatched directly. Call this function only for a request that waits: without a waiting client, no router knows
 * whether a worker has the task.
 * @returns undefined when workers must poll the engine for the task
 */
async function planDispatch(
  request: StartWorkflowRequest,
  deadlineAt: number,
  { metadata, directDispatch, dispatchesDirectly }: ExecutionDependencies,
): Promise<DispatchPlan | undefined> {
  if (!dispatchesDirectly) return undefined;
  const knownBy = Math.min(deadlineAt, performance.now() + maxMetadataMs);
  const workflow = await before(knownBy, metadata.metadataOf(request.name, request.version));
  const first = workflow?.first;
  if (workflow === undefined || first?.inputOf === undefined) return undefined;
  if (!first.isOnlyOfType || first.isDelayedOrRetried) return undefined;
  const queue = queueOf(first.taskType, request.taskToDomain);
  if (!directDispatch.isPossible(queue)) return undefined;
  const taskDef = await before(knownBy, metadata.taskDef(first.taskType));
  // Three kinds of tasks are not dispatched directly: tasks with retries, because a retry has another task id under the
  // same reference name; tasks with an input template, because only the engine can apply the template; and tasks with a
  // poll timeout, because the engine sees no poll and would time them out.
  const { retryCount, inputTemplate = {}, pollTimeoutSeconds = 0 } = taskDef ?? {};
  if (taskDef === undefined || retryCount !== 0 || pollTimeoutSeconds > 0) return undefined;
  if (Object.keys(inputTemplate).length > 0) return undefined;
  const { domain } = queue;
  const options = { request, first, domain, responseTimeoutSeconds: taskDef.responseTimeoutSeconds };
  const input = first.inputOf(request.input);
  return {
    workflow,
    queue,
    taskToDomain: { ...otherDomains(workflow, request), [first.taskType]: directDomain(domain) },
    taskOf: (executionId) => createDispatchedTask({ ...options, input, executionId }),
  };
}

/**
 * Returns the domains of the tasks after the first. The domains are left out when there are no such tasks, because the
 * engine looks up every domain, even one that no task has.
 */
function otherDomains({ taskTypes }: WorkflowMetadata, { taskToDomain }: StartWorkflowRequest): Record<string, string> {
  return taskTypes.length > 1 ? { ...taskToDomain } : {};
}

/**
 * Waits until an execution has ended.
 * @returns the status, with the reason when it did not complete; `later` when it has not ended and the client can
 *   retrieve the response later; null when the client has disconnected
 * @throws Problem `wait-budget-spent` (504)
 */
export async function waitForEnd(
  execution: StartedExecution,
  options: WaitOptions,
  dependencies: ExecutionDependencies,
): Promise<ExecutionStatus | 'later' | null> {
  const { waitMs, deadlineAt, readOnly, clientGone, respondsAsync, linksOf } = options;
  // A draining router releases clients that can retrieve the response through another router.
  const signals = respondsAsync ? [clientGone, dependencies.draining] : [clientGone];
  const { executionId, forget } = execution;
  const timeoutMs = waitMs === 0 ? 0 : remainingMs(deadlineAt);
  const ended = await awaitEnd(executionId, { timeoutMs, signals }, dependencies).finally(forget);
  if (ended !== null) return ended;
  if (clientGone.aborted) {
    if (readOnly) void abandon(execution, clientGoneReason, dependencies);
    return null;
  }
  if (respondsAsync) return 'later';
  if (readOnly) void abandon(execution, deadlineReason(waitMs), dependencies);
  throw withLinks(responseDeadlineSpent(waitMs, { readOnly }), executionId, { readOnly, linksOf });
}

/**
 * Waits until an execution has ended.
 * @param timeoutMs longest wait, in milliseconds; 0: no wait
 * @returns the status, with the reason when it did not complete; null after the timeout or an abort
 */
export async function awaitEnd(
  executionId: string,
  { timeoutMs, signals }: { timeoutMs: number; signals: readonly AbortSignal[] },
  dependencies: Pick<ExecutionDependencies, 'waiters' | 'engine' | 'recorder'>,
): Promise<ExecutionStatus | null> {
  const readUntil = performance.now() + timeoutMs + lateReadMs;
  const ended = timeoutMs <= 0 ? null : await dependencies.waiters.waitFor(executionId, timeoutMs, ...signals);
  if (ended !== null) dependencies.recorder.ended(executionId, ended.status);
  return ended === null || ended.status === 'COMPLETED' ? ended : withReason(ended, readUntil, dependencies);
}

/** Terminates an execution whose response no client will read. */
async function abandon(
  { executionId, cancelDispatch }: StartedExecution,
  reason: string,
  { engine, log }: ExecutionDependencies,
): Promise<void> {
  cancelDispatch?.();
  try {
    await engine.terminate(executionId, reason);
  } catch (error) {
    log.warn({ executionId, ...errorFields(error) }, 'could not terminate an abandoned execution');
  }
}

/**
 * Adds the reason for the incompletion and the time of the last resumption, which the engine's status call omits.
 * Without the time, an execution that was resumed during its cancellation would look cancelled. Without the reason, the
 * response could not say that a write may have been applied. A slow engine therefore gets the rest of the wait and
 * another `lateReadMs`, because the execution may have ended just before the deadline.
 */
async function withReason(
  ended: ExecutionStatus,
  readUntil: number,
  { engine }: Pick<ExecutionDependencies, 'engine'>,
): Promise<ExecutionStatus> {
  if (ended.reasonForIncompletion !== undefined) return ended;
  try {
    const read = await engine.getExecution(ended.workflowId, remainingMs(readUntil));
    const { reasonForIncompletion, lastRetriedTime = 0 } = read;
    return reasonForIncompletion === undefined ? ended : { ...ended, reasonForIncompletion, lastRetriedTime };
  } catch {
    return ended;
  }
}
