// One execution from start to answer: starts the pinned version, waits within the budget, cleans up behind readers.

import type { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { ExecutionStatus, StartWorkflowRequest } from '#lib/conductor/types.ts';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';
import { waitBudgetSpent, withLinks } from './response.ts';
import type { LinksOf } from './links.ts';
import type { WakeUps } from '../dispatch/wake-ups.ts';
import type { TaskQueues } from '../dispatch/task-queues.ts';
import type { InFlightExecutions } from '../dispatch/in-flight-executions.ts';
import { createDispatchedTask } from '../dispatch/dispatched-task.ts';
import { startProblem } from './start-problem.ts';
import { budgetSpent, clientGone as gone } from './terminations.ts';
import type { CompletionWaiters } from '../dispatch/completion-waiters.ts';
import type { FirstTask } from '../dispatch/workflow-metadata.ts';
import { queueOf, type WorkflowMetadataCache } from '../dispatch/workflow-metadata-cache.ts';

export interface ExecutionDependencies {
  engine: Engine;
  waits: CompletionWaiters;
  queues: TaskQueues;
  hints: WakeUps;
  shapes: WorkflowMetadataCache;
  underWay: InFlightExecutions;
  /** Names of the workflows that clients start, or have started under an earlier configuration. */
  workflows: Set<string>;
  /** Executions whose client waits here and does not know their id yet. */
  waitedFor: Set<string>;
  /** The engine's executions, whole. */
  executions: ExecutionApi;
  /** True when no other router serves these queues: only then may a task be handed over. */
  handsOver: boolean;
  log: Logger;
  /** Aborts when the router begins to drain: nothing new is started. */
  draining: AbortSignal;
}

/** What a request allows its execution. */
export interface WaitOptions {
  /** How long to wait for the end, in milliseconds. */
  budgetMs: number;
  /** True for GET and HEAD: nothing is lost when the execution is terminated. */
  readOnly: boolean;
  /** Aborts when the client is gone. */
  clientGone: AbortSignal;
  /** True: a wait that is spent ends nothing; the client is told where to look. */
  answersLater: boolean;
  linksOf: LinksOf;
}

/** What a start depends on. */
export interface StartOptions extends Pick<WaitOptions, 'budgetMs' | 'readOnly' | 'answersLater'> {
  /** True: others with the same Idempotency-Key are told of the execution before it has ended. */
  isKeyed: boolean;
}

/** A started execution. */
export interface Execution {
  readonly executionId: string;
  /** Forgets what was kept for its wait. */
  forget(): void;
  /** Its first task, when a worker was given it without a poll. */
  readonly handedOver: HandedOver | undefined;
}

/** The end of a hand-over, in two steps. */
interface HandedOver {
  /** No worker gets the task any more. */
  withdraw(): void;
  /** The engine does not have it in its queue any more. */
  settle(): void;
}

/**
 * Starts a workflow and sees to it that a worker gets its first task at once.
 * @param readOnly true when nothing is lost if the first task is done twice; `budgetMs` is what the start may take
 * @throws Problem `engine-unavailable` or `definition-missing` (503: nothing was started), or `outcome-unknown`
 *   (504) when the engine may have started it
 */
export async function startExecution(
  request: StartWorkflowRequest,
  { readOnly, budgetMs, answersLater, isKeyed }: StartOptions,
  parts: ExecutionDependencies,
): Promise<Execution> {
  const { engine, hints, shapes, underWay, waitedFor, handsOver } = parts;
  let executionId: string;
  try {
    executionId = await engine.startWorkflow(request, budgetMs);
  } catch (error) {
    throw await startProblem(error, { request, readOnly }, engine);
  }
  if (!answersLater && !isKeyed) waitedFor.add(executionId);
  const outline = await shapes.outline(request.name, request.version).catch(() => undefined);
  const first = outline?.first;
  if (first?.last !== undefined) {
    const { outputOf, eventsOf } = first.last;
    underWay.set(executionId, { referenceName: first.referenceName, outputOf, events: eventsOf(request.input) });
  }
  const forget = () => {
    underWay.delete(executionId);
    waitedFor.delete(executionId);
  };
  // Once nobody waits, only the engine can say whether a worker has the task: then it has to be polled.
  if (first !== undefined && readOnly && handsOver && !answersLater) {
    const handedOver = await handOver(executionId, { request, first }, parts);
    if (handedOver !== undefined) return { executionId, forget, handedOver };
  }
  // Its first task is in its queue by now: parked polls of that queue are answered at once.
  const types = outline?.taskTypes.slice(0, 1) ?? [];
  hints.tasksAppeared(types.map((taskType) => queueOf(taskType, request.taskToDomain)));
  return { executionId, forget, handedOver: undefined };
}

/**
 * Gives the first task to a worker without asking the engine for it. The engine keeps it in its queue until the result
 * arrives: if the worker is lost before, or this router is, it is polled again, which is why only reads go this way.
 * @returns undefined when the task must be polled
 */
async function handOver(
  executionId: string,
  { request, first }: { request: StartWorkflowRequest; first: FirstTask },
  { queues, shapes }: ExecutionDependencies,
): Promise<HandedOver | undefined> {
  const taskDef = await shapes.taskDef(first.taskType).catch(() => undefined);
  // A task that the engine may schedule again has several ids under one reference name.
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
  if (!queues.handOver(name, task)) return undefined;
  return {
    withdraw: () => queues.withdraw(name, task.taskId),
    settle: () => queues.settle(name, task.taskId),
  };
}

/**
 * Waits until an execution has ended.
 * @returns it, with the reason when it did not complete; `later` when it has not and the client can look for it; null
 *   when the client has gone
 * @throws Problem `wait-budget-spent` (504)
 */
export async function waitForEnd(
  execution: Execution,
  options: WaitOptions,
  parts: ExecutionDependencies,
): Promise<ExecutionStatus | 'later' | null> {
  const { budgetMs, readOnly, clientGone, answersLater, linksOf } = options;
  // A router that drains need not keep those who can ask another one.
  const signals = answersLater ? [clientGone, parts.draining] : [clientGone];
  const { executionId, forget, handedOver } = execution;
  const ended = await awaitEnd(executionId, { budgetMs, signals }, parts).finally(forget);
  if (ended !== null) {
    handedOver?.settle();
    return ended;
  }
  if (clientGone.aborted) {
    if (readOnly) void abandon(execution, gone, parts);
    return null;
  }
  if (answersLater) return 'later';
  if (readOnly) void abandon(execution, budgetSpent(budgetMs), parts);
  throw withLinks(waitBudgetSpent(budgetMs, { readOnly }), executionId, { readOnly, linksOf });
}

/** The end of an execution and, when it did not complete, the reason; null when it has not ended in time. */
export async function awaitEnd(
  executionId: string,
  { budgetMs, signals }: { budgetMs: number; signals: readonly AbortSignal[] },
  parts: Pick<ExecutionDependencies, 'waits' | 'engine'>,
): Promise<ExecutionStatus | null> {
  const ended = budgetMs <= 0 ? null : await parts.waits.waitFor(executionId, budgetMs, ...signals);
  return ended === null || ended.status === 'COMPLETED' ? ended : withReason(ended, parts);
}

/** Nobody will read the answer: the engine need not produce it. Until it knows, it still has the task in its queue. */
async function abandon(
  { executionId, handedOver }: Execution,
  reason: string,
  { engine, log }: ExecutionDependencies,
): Promise<void> {
  handedOver?.withdraw();
  try {
    await engine.terminate(executionId, reason);
  } catch (error) {
    log.warn({ executionId, ...errorFields(error) }, 'an abandoned execution was not terminated');
  }
  handedOver?.settle();
}

/** The budget may be spent by now: the reason is worth a moment more, in milliseconds. */
const reasonMs = 1_000;

/** The status call has no reason; the execution itself does. */
async function withReason(
  ended: ExecutionStatus,
  { engine }: Pick<ExecutionDependencies, 'engine'>,
): Promise<ExecutionStatus> {
  if (ended.reasonForIncompletion !== undefined) return ended;
  try {
    const { reasonForIncompletion } = await engine.getExecution(ended.workflowId, reasonMs);
    return reasonForIncompletion === undefined ? ended : { ...ended, reasonForIncompletion };
  } catch {
    return ended;
  }
}
