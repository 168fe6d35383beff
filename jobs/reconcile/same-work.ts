// Starts executions for the reconciler. Reads the engine's store before each start, to limit how often the same work is
// started.

import { notifyWorkflow } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isTerminatedByReconciler } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { type DecisionContext, hasElapsed } from './decision.ts';

/**
 * Maximum number of executions of the same work, including those that events started. Once it is reached, an operator
 * has to decide.
 */
const maxExecutions = 5;

/** Dependencies of {@link startMissing}. */
export interface StartContext extends Pick<DecisionContext, 'now' | 'afterMs'> {
  readonly api: ExecutionApi;
}

/** Result of {@link startMissing}. */
export interface StartedExecutions {
  /** Ids of the executions that were started; requests whose work already has an execution start nothing. */
  readonly started: readonly string[];
  /** Why an execution must not be started now, although no other execution can do the work of the request. */
  readonly blocked?: string;
}

/**
 * Whether the work of a request needs an execution. Only the newest execution of the same work is ever restarted, and
 * the grace period doubles with each restart, so that concurrent routers do not repair each other's repairs.
 */
type Need = 'missing' | 'started' | { readonly blocked: string };

/**
 * Starts the requests whose work has no execution.
 * @param execution the execution that is repaired
 * @throws EngineError
 */
export async function startMissing(
  requests: readonly StartWorkflowRequest[],
  execution: WholeExecution,
  context: StartContext,
): Promise<StartedExecutions> {
  const started: string[] = [];
  let blocked: string | undefined;
  for (const request of requests) {
    const need = await needOf(request, execution, context);
    if (need === 'missing') started.push(await context.api.start(request));
    else if (need !== 'started') blocked = need.blocked;
  }
  return { started, ...(blocked === undefined ? {} : { blocked }) };
}

/**
 * Returns true when there is at least one request and, for each request, another execution does its work. For a
 * restart, only a newer execution counts.
 * @throws EngineError
 */
export async function isStartedElsewhere(
  requests: readonly StartWorkflowRequest[],
  execution: WholeExecution,
  context: StartContext,
): Promise<boolean> {
  for (const request of requests) if ((await needOf(request, execution, context)) !== 'started') return false;
  return requests.length > 0;
}

async function needOf(
  request: StartWorkflowRequest,
  execution: WholeExecution,
  { api, ...context }: StartContext,
): Promise<Need> {
  const correlated = await api.correlated(request.name, request.correlationId ?? '', { includeTasks: true });
  const others = correlated.filter((other) => other.workflowId !== execution.workflowId && isSameWork(other, request));
  const isRestart = execution.workflowName === request.name;
  const count = others.length + (isRestart ? 1 : 0);
  const later = isRestart ? others.filter((other) => compareByStart(other, execution) > 0) : others;
  const newest = later.toSorted(compareByStart).at(-1);
  // The reconciler also inspects the newest execution, unless the index lacks it. Therefore, the work is started again
  // only if the newest execution has had no task for a long time.
  if (newest !== undefined && !(isTaskless(newest) && hasElapsed(newest.startTime, waitAfter(count + 1))))
    return 'started';
  if (count >= maxExecutions) return { blocked: `${request.name} was started ${count} times for the same work` };
  const last = newest ?? (isRestart ? execution : undefined);
  if (last === undefined || hasElapsed(last.startTime, waitAfter(count))) return 'missing';
  return { blocked: `${request.name} was started ${count} times for the same work, most recently a short while ago` };

  function waitAfter(starts: number): typeof context {
    return { ...context, afterMs: context.afterMs * 2 ** (starts - 1) };
  }
}

/** Returns true when no worker will get a task of the execution, and no operator has ended it. */
function isTaskless(execution: WholeExecution): boolean {
  return execution.tasks.length === 0 && (!hasEnded(execution) || isTerminatedByReconciler(execution));
}

/**
 * Returns true when an execution does the work of a request. Notifications of the same PATCH are always the same work,
 * whatever response a probe received. Other work is the same when its input is the same.
 */
function isSameWork({ input: started }: WholeExecution, { name, input }: StartWorkflowRequest): boolean {
  if (name === notifyWorkflow) return started['executionId'] === input['executionId'];
  return hasInput(started, Object.fromEntries(Object.entries(input).filter(([field]) => !isAddedByEngine(field))));
}

/** Returns true when `started` contains all fields of `input`. */
export function hasInput(started: Readonly<Record<string, unknown>>, input: Record<string, unknown>): boolean {
  return Object.entries(input).every(([name, value]) => JSON.stringify(started[name]) === JSON.stringify(value));
}

/** The engine adds fields to the input of executions that an event handler starts. */
function isAddedByEngine(field: string): boolean {
  return field.startsWith('conductor.event.');
}

/** Orders executions by start time, and those of the same millisecond by id, so that exactly one is the newest. */
function compareByStart(one: WholeExecution, other: WholeExecution): number {
  return one.startTime - other.startTime || (one.workflowId < other.workflowId ? -1 : 1);
}
