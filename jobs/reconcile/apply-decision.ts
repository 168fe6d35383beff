// Applies a decision in the engine. Every step is idempotent: MDM and the adaptors detect repeated requests by their
// idempotency key.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { type Case, terminationReason } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { isRetryableStatus } from '#lib/http/statuses.ts';
import { type Decision, hasElapsed } from './decision.ts';
import { type StartContext, type StartedExecutions, startMissing } from './same-work.ts';

/** What was done, for log lines and metrics. */
export interface AppliedDecision extends StartedExecutions {
  readonly action: 'continued' | 'retried' | 'started' | 'terminated' | 'asked' | 'none';
}

const noAction: AppliedDecision = { action: 'none', started: [] };
const continued: AppliedDecision = { action: 'continued', started: [] };

/**
 * If retries still fail when this many grace periods have passed since the end of the execution, the retry counts as
 * permanently refused.
 */
const maxFailingPeriods = 5;

/**
 * Applies a decision and returns what was done. Several routers may apply decisions about one execution at the same
 * time. When the engine shows that another router has already made the change, nothing more is done.
 * @throws EngineError when a call failed; a later round decides again
 */
export async function applyDecision(
  decision: Decision,
  execution: WholeExecution,
  context: StartContext,
): Promise<AppliedDecision> {
  const { api } = context;
  switch (decision.kind) {
    case 'start':
      return startAll(decision.requests, execution, context);
    case 'ask':
      return { action: 'asked', started: [await api.start(decision.request)] };
    case 'replace': {
      // The replacement starts first: an interruption here leaves two executions, never none.
      const done = await startAll(decision.requests, execution, context);
      if (done.blocked !== undefined) return done;
      await terminate(execution, decision.case, api);
      return { ...done, action: 'terminated' };
    }
    case 'end': {
      const after = await evaluate(execution, decision.case, api);
      if (after === null || hasEnded(after)) return continued;
      await terminate(execution, decision.case, api);
      return { action: 'terminated', started: [] };
    }
    case 'resume': {
      if (hasEnded(execution)) return resume(execution, decision.fallback, context);
      const after = await evaluate(execution, decision.case, api);
      if (after === null || hasGoneOn(execution, after)) return continued;
      if (!hasEnded(after)) await terminate(after, decision.case, api);
      return resume(after, decision.fallback, context);
    }
    default:
      return noAction;
  }
}

async function startAll(
  requests: readonly StartWorkflowRequest[],
  execution: WholeExecution,
  context: StartContext,
): Promise<AppliedDecision> {
  const done = await startMissing(requests, execution, context);
  return { action: done.started.length === 0 ? 'none' : 'started', ...done };
}

/** Terminates an execution, unless it has ended by itself. */
async function terminate({ workflowId }: WholeExecution, why: Case, api: ExecutionApi): Promise<void> {
  try {
    await api.terminate(workflowId, terminationReason(why));
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/**
 * Makes the engine evaluate the execution again, which often suffices after a crash of the engine, and returns the
 * execution; null when the engine no longer has it. If the next attempt of a task was lost (`never_retried`), the
 * execution is only read: an evaluation would complete it although its work is not done.
 */
async function evaluate({ workflowId }: WholeExecution, why: Case, api: ExecutionApi): Promise<WholeExecution | null> {
  if (why !== 'never_retried') await decide(workflowId, api);
  return api.readWhole(workflowId);
}

async function decide(workflowId: string, api: ExecutionApi): Promise<void> {
  try {
    await api.decide(workflowId);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
  }
}

/** Returns true when the engine, or another router, has continued or ended the execution since it was read. */
function hasGoneOn(before: WholeExecution, after: WholeExecution): boolean {
  // A terminated execution still has to be retried: either another router terminated it, or the engine did when it
  // evaluated an execution with a cancelled task.
  if (after.status === 'TERMINATED') return false;
  return hasEnded(after) || attemptsOf(before) !== attemptsOf(after);
}

function attemptsOf({ tasks }: WholeExecution): string {
  return tasks.map(({ taskId, status }) => `${taskId} ${status}`).join();
}

/** Retries an execution that has ended; starts `fallback` when the engine refuses the retry permanently. */
async function resume(
  execution: WholeExecution,
  fallback: readonly StartWorkflowRequest[],
  context: StartContext,
): Promise<AppliedDecision> {
  const { api } = context;
  const { workflowId } = execution;
  for (let isFirst = true; ; isFirst = false) {
    if (await isRetried(execution, context)) return { action: 'retried', started: [] };
    // The engine refuses to retry a running execution: another router may have retried it in the meantime.
    const after = await api.readWhole(workflowId);
    if (after === null || !hasEnded(after)) return continued;
    if (after.status === 'COMPLETED' && execution.status !== 'COMPLETED') return continued;
    // A retry and a termination at the same time leave a task attempt that no worker gets; an evaluation cancels it.
    if (!isFirst || after.tasks.length === 0) return startAll(fallback, execution, context);
    await decide(workflowId, api);
  }
}

/** Retries the execution; returns false when the engine refuses. @throws EngineError when a retry may succeed later */
async function isRetried({ workflowId, endTime }: WholeExecution, context: StartContext): Promise<boolean> {
  try {
    await context.api.retry(workflowId);
    return true;
  } catch (error) {
    const isFailing = error instanceof EngineError && error.kind === 'refused';
    const forMs = context.afterMs * maxFailingPeriods;
    if (isRefusal(error) || (isFailing && hasElapsed(endTime, { now: context.now, afterMs: forMs }))) return false;
    throw error;
  }
}

/**
 * Returns true for the definite refusals of Conductor, 404 and 409 (`ApplicationExceptionMapper`); a 500 may be
 * temporary.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof EngineError && error.kind === 'refused' && !isRetryableStatus(error.status ?? 500);
}
