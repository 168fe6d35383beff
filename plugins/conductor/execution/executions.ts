// Starts an execution of a pinned workflow version, waits for its end, and terminates reads that nobody waits for.

import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionStatus, StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { ExecutionRecorder, StartRecord } from '#lib/records/recorder.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { responseDeadlineSpent, withLinks } from './response.ts';
import type { LinksOf } from './links.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import type { TaskQueues } from '../dispatch/task-queues.ts';
import type { InFlightExecutions } from '../dispatch/in-flight-executions.ts';
import { createDispatchedTask } from '../dispatch/dispatched-task.ts';
import { startProblem } from './start-problem.ts';
import { clientGoneReason, deadlineReason } from './terminations.ts';
import type { CompletionWaiters } from '../dispatch/completion-waiters.ts';
import type { FirstTask } from '../dispatch/workflow-metadata.ts';
import { queueOf, type WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

/** What starting and awaiting executions depends on; most of it is shared state of the plugin. */
export interface ExecutionDependencies {
  engine: Engine;
  waiters: CompletionWaiters;
  queues: TaskQueues;
  wakeUps: WakeUps;
  metadata: WorkflowMetadataCache;
  inFlight: InFlightExecutions;
  /** Names of the workflows that clients start, including those of previous configurations. */
  workflows: Set<string>;
  /** Ids of executions whose client waits on this router and does not know the id yet. */
  awaited: Set<string>;
  /** Reads complete executions from the engine. */
  executions: ExecutionApi;
  recorder: ExecutionRecorder;
  /** True when tasks may be dispatched directly: no other router may serve the same queues. */
  dispatchesDirectly: boolean;
  log: Logger;
  /** Aborts when the router starts to drain; no execution starts afterwards. */
  draining: AbortSignal;
}

/** How long a request waits for its execution, and what happens afterwards. */
export interface WaitOptions {
  /** Response deadline in milliseconds, as the client is told it; 0: no wait. */
  deadlineMs: number;
  /** When the response deadline passes, by performance.now(). */
  deadlineAt: number;
  /** True for safe methods, whose executions can be terminated without harm. */
  readOnly: boolean;
  /** Aborts when the client disconnects. */
  clientGone: AbortSignal;
  /** True: after the deadline the execution continues, and the client gets links to retrieve the response later. */
  respondsAsync: boolean;
  linksOf: LinksOf;
}

/** Options of {@link startExecution}; `deadlineAt` ends the start, too. */
export interface StartOptions extends Pick<WaitOptions, 'deadlineAt' | 'readOnly' | 'respondsAsync'> {
  /** True: requests with the same Idempotency-Key may learn the execution's id before its end. */
  isKeyed: boolean;
}

/** An execution that the engine has started, and what its wait needs. */
export interface StartedExecution {
  readonly executionId: string;
  /** Deletes the entries that exist for its wait. */
  forget(): void;
  /** Controls the direct dispatch of its first task; undefined when workers poll the task from the engine. */
  readonly directDispatch: DirectDispatch | undefined;
}

/** Ends the direct dispatch of a task, in two steps. */
interface DirectDispatch {
  /** Stops the delivery to workers. */
  cancel(): void;
  /** Called when the engine has removed the task from its queue. */
  confirm(): void;
}

/**
 * Starts an execution and delivers its first task: directly to a worker, or by waking the held polls of its queue.
 * @throws Problem as {@link startProblem} returns it: 503, or 504 `outcome-unknown` when the engine may have started it
 */
export async function startExecution(
  request: StartWorkflowRequest,
  { readOnly, deadlineAt, respondsAsync, isKeyed }: StartOptions,
  dependencies: ExecutionDependencies,
): Promise<StartedExecution> {
  const { wakeUps, metadata, inFlight, awaited, dispatchesDirectly } = dependencies;
  const executionId = await startRecorded(request, { deadlineAt, readOnly, isKeyed }, dependencies);
  if (!respondsAsync && !isKeyed) awaited.add(executionId);
  const workflow = await before(deadlineAt, metadata.metadataOf(request.name, request.version));
  const first = workflow?.first;
  if (first?.last !== undefined) {
    const { outputOf, eventsOf } = first.last;
    inFlight.set(executionId, { referenceName: first.referenceName, outputOf, events: eventsOf(request.input) });
  }
  const forget = () => {
    inFlight.delete(executionId);
    awaited.delete(executionId);
  };
  // Without a waiting request, only the engine knows whether a worker has the task, so workers must poll it.
  if (first !== undefined && readOnly && dispatchesDirectly && !respondsAsync) {
    const directDispatch = await dispatchDirectly(executionId, { request, first, deadlineAt }, dependencies);
    if (directDispatch !== undefined) return { executionId, forget, directDispatch };
  }
  // The engine has queued the first task by now.
  const types = workflow?.taskTypes.slice(0, 1) ?? [];
  wakeUps.tasksAppeared(types.map((taskType) => queueOf(taskType, request.taskToDomain)));
  return { executionId, forget, directDispatch: undefined };
}

/** Starts an execution, between its two records. @throws Problem as {@link startExecution} */
async function startRecorded(
  request: StartWorkflowRequest,
  { readOnly, deadlineAt, isKeyed }: Omit<StartOptions, 'respondsAsync'>,
  { engine, executions, recorder }: ExecutionDependencies,
): Promise<string> {
  let record: StartRecord | undefined;
  try {
    record = await recorder.starting(request, { isLookedUp: !readOnly || isKeyed });
    const executionId = await engine.startWorkflow(request, remainingMs(deadlineAt));
    record.started(executionId);
    return executionId;
  } catch (error) {
    const problem = await startProblem(error, { request, readOnly }, executions);
    if (problem.status === 503 && !readOnly) record?.notStarted();
    throw problem;
  }
}

/**
 * Dispatches the first task to a worker without a poll of the engine. The engine keeps the task in its queue until the
 * result arrives. If the worker or this router fails, another worker gets the task: only reads are dispatched directly.
 * @returns undefined when workers must poll the task
 */
async function dispatchDirectly(
  executionId: string,
  { request, first, deadlineAt }: { request: StartWorkflowRequest; first: FirstTask; deadlineAt: number },
  { queues, metadata }: ExecutionDependencies,
): Promise<DirectDispatch | undefined> {
  const taskDef = await before(deadlineAt, metadata.taskDef(first.taskType));
  // A retry has another task id under the same reference name.
  if (taskDef?.retryCount !== 0 || first.inputOf === undefined) return undefined;
  const name = queueOf(first.taskType, request.taskToDomain);
  const task = createDispatchedTask({
    executionId,
    request,
    first,
    input: first.inputOf(request.input),
    domain: name.domain,
    responseTimeoutSeconds: taskDef.responseTimeoutSeconds,
  });
  if (!queues.dispatchDirectly(name, task)) return undefined;
  return {
    cancel: () => queues.cancelDispatch(name, task.taskId),
    confirm: () => queues.confirmDispatch(name, task.taskId),
  };
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
  const { deadlineMs, deadlineAt, readOnly, clientGone, respondsAsync, linksOf } = options;
  // A draining router releases clients that can retrieve the response through another router.
  const signals = respondsAsync ? [clientGone, dependencies.draining] : [clientGone];
  const { executionId, forget, directDispatch } = execution;
  const timeoutMs = deadlineMs === 0 ? 0 : remainingMs(deadlineAt);
  const ended = await awaitEnd(executionId, { timeoutMs, signals }, dependencies).finally(forget);
  if (ended !== null) {
    directDispatch?.confirm();
    return ended;
  }
  if (clientGone.aborted) {
    if (readOnly) void abandon(execution, clientGoneReason, dependencies);
    return null;
  }
  if (respondsAsync) return 'later';
  if (readOnly) void abandon(execution, deadlineReason(deadlineMs), dependencies);
  throw withLinks(responseDeadlineSpent(deadlineMs, { readOnly }), executionId, { readOnly, linksOf });
}

/**
 * Waits until an execution has ended.
 * @param timeoutMs longest wait, in milliseconds; 0: no wait
 * @returns the status, with the reason when it did not complete; null after the wait or an abort
 */
export async function awaitEnd(
  executionId: string,
  { timeoutMs, signals }: { timeoutMs: number; signals: readonly AbortSignal[] },
  dependencies: Pick<ExecutionDependencies, 'waiters' | 'engine' | 'recorder'>,
): Promise<ExecutionStatus | null> {
  const ended = timeoutMs <= 0 ? null : await dependencies.waiters.waitFor(executionId, timeoutMs, ...signals);
  if (ended !== null) dependencies.recorder.ended(executionId, ended.status);
  return ended === null || ended.status === 'COMPLETED' ? ended : withReason(ended, dependencies);
}

/** Terminates an execution whose response no client reads. The engine keeps its task in the queue until it has ended. */
async function abandon(
  { executionId, directDispatch }: StartedExecution,
  reason: string,
  { engine, log }: ExecutionDependencies,
): Promise<void> {
  directDispatch?.cancel();
  try {
    await engine.terminate(executionId, reason);
  } catch (error) {
    log.warn({ executionId, ...errorFields(error) }, 'could not terminate an abandoned execution');
  }
  directDispatch?.confirm();
}

/** Time-out for reading the reason, in milliseconds. It may exceed the response deadline. */
const reasonTimeoutMs = 1_000;

/** Adds the reason, which the engine's status call omits, from the execution. */
async function withReason(
  ended: ExecutionStatus,
  { engine }: Pick<ExecutionDependencies, 'engine'>,
): Promise<ExecutionStatus> {
  if (ended.reasonForIncompletion !== undefined) return ended;
  try {
    const { reasonForIncompletion } = await engine.getExecution(ended.workflowId, reasonTimeoutMs);
    return reasonForIncompletion === undefined ? ended : { ...ended, reasonForIncompletion };
  } catch {
    return ended;
  }
}

/** Returns the time until a deadline in milliseconds, at least 1. */
function remainingMs(deadlineAt: number): number {
  return Math.max(1, Math.round(deadlineAt - performance.now()));
}

/** Returns a value that only makes an execution faster; undefined when it fails, or does not arrive before the deadline. */
async function before<T>(deadlineAt: number, value: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, remainingMs(deadlineAt), undefined);
  try {
    return await Promise.race([value.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
