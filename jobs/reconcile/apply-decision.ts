// Applies a decision in the engine. Every step is idempotent: MDM and the adaptors detect repetitions by their key.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { Case, Decision } from './decision.ts';

/** Prefix of the reason of every termination. */
export const terminationReason = 'reconciler';

/** What was done, for log lines and metrics. */
export interface AppliedDecision {
  readonly action: 'continued' | 'retried' | 'started' | 'terminated' | 'asked' | 'none';
  /** Ids of the executions that were started. */
  readonly started: readonly string[];
}

const reasons: Readonly<Record<Case, string>> = {
  event_stuck: 'its event was not published',
  event_lost: 'its event was lost',
  outcome_unknown: 'its worker has not been heard of',
  never_scheduled: 'it was never given a task',
  never_retried: 'the next attempt of its task was lost',
  share_lost: 'its event was lost',
  unknown_version: 'its workflow version is not known',
};

const noAction: AppliedDecision = { action: 'none', started: [] };

/**
 * Applies a decision and returns what was done.
 * @throws EngineError when a call failed; a later round decides again
 */
export async function applyDecision(
  decision: Decision,
  execution: WholeExecution,
  api: ExecutionApi,
): Promise<AppliedDecision> {
  const { workflowId } = execution;
  switch (decision.kind) {
    case 'start':
      return { action: 'started', started: await startAll(decision.requests, api) };
    case 'ask':
      return { action: 'asked', started: await startAll([decision.request], api) };
    case 'replace': {
      // The replacement starts first: when interrupted here, there are two executions, never none.
      const started = await startAll(decision.requests, api);
      await terminate(workflowId, decision.case, api);
      return { action: 'terminated', started };
    }
    case 'end':
      if (await endsWell(execution, decision.case, api)) return { action: 'continued', started: [] };
      await terminate(workflowId, decision.case, api);
      return { action: 'terminated', started: [] };
    case 'resume':
      if (!hasEnded(execution)) {
        if (await endsWell(execution, decision.case, api)) return { action: 'continued', started: [] };
        await terminate(workflowId, decision.case, api);
      }
      return resume(workflowId, decision.fallback, api);
    default:
      return noAction;
  }
}

function terminate(executionId: string, why: Case, api: ExecutionApi): Promise<void> {
  return api.terminate(executionId, `${terminationReason}: ${reasons[why]}`);
}

/** An execution whose next attempt was lost would be completed by an evaluation, without its work. */
async function endsWell(execution: WholeExecution, why: Case, api: ExecutionApi): Promise<boolean> {
  return why !== 'never_retried' && (await endsWhenEvaluated(execution, api));
}

/**
 * Makes the engine evaluate the execution again, which often suffices after a crash of the engine. Returns true when the
 * execution has ended.
 */
async function endsWhenEvaluated(execution: WholeExecution, api: ExecutionApi): Promise<boolean> {
  try {
    await api.decide(execution.workflowId);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
  }
  const after = await api.readWhole(execution.workflowId);
  return after !== null && hasEnded(after);
}

async function resume(
  executionId: string,
  fallback: readonly StartWorkflowRequest[],
  api: ExecutionApi,
): Promise<AppliedDecision> {
  try {
    await api.retry(executionId);
    return { action: 'retried', started: [] };
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
    return { action: 'started', started: await startAll(fallback, api) };
  }
}

async function startAll(requests: readonly StartWorkflowRequest[], api: ExecutionApi): Promise<string[]> {
  const started: string[] = [];
  for (const request of requests) started.push(await api.start(request));
  return started;
}
