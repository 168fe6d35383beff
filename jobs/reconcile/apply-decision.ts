// Carries a decision out in the engine. Every step may be done twice: MDM and the adaptors tell a repetition by its key.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { Case, Decision } from './decision.ts';

/** The reason of every termination begins so. */
export const terminationReason = 'reconciler';

/** What was done, for logs. */
export interface Done {
  readonly action: 'continued' | 'retried' | 'started' | 'terminated' | 'asked' | 'none';
  /** Executions that were started. */
  readonly started: readonly string[];
}

const reasons: Readonly<Record<Case, string>> = {
  event_stuck: 'its event was not published',
  event_lost: 'its event was lost',
  outcome_unknown: 'its worker has not been heard of',
  never_scheduled: 'it was never given a task',
  share_lost: 'its event was lost',
  unknown_version: 'its workflow version is not known',
};

const nothing: Done = { action: 'none', started: [] };

/** @throws EngineError when it could not be done; a later round decides anew */
export async function applyDecision(decision: Decision, execution: WholeExecution, api: ExecutionApi): Promise<Done> {
  const { workflowId } = execution;
  switch (decision.kind) {
    case 'start':
      return { action: 'started', started: await startAll(decision.requests, api) };
    case 'ask':
      return { action: 'asked', started: await startAll([decision.request], api) };
    case 'replace': {
      // First the new one: cut off here, there are two, never none.
      const started = await startAll(decision.requests, api);
      await terminate(workflowId, decision.case, api);
      return { action: 'terminated', started };
    }
    case 'end':
      if (await continues(execution, api)) return { action: 'continued', started: [] };
      await terminate(workflowId, decision.case, api);
      return { action: 'terminated', started: [] };
    case 'resume':
      if (isRunning(execution)) {
        if (await continues(execution, api)) return { action: 'continued', started: [] };
        await terminate(workflowId, decision.case, api);
      }
      return resume(workflowId, decision.otherwise, api);
    default:
      return nothing;
  }
}

function terminate(executionId: string, why: Case, api: ExecutionApi): Promise<void> {
  return api.terminate(executionId, `${terminationReason}: ${reasons[why]}`);
}

/** Often the engine only has forgotten to look again. True when that has ended the execution. */
async function continues(execution: WholeExecution, api: ExecutionApi): Promise<boolean> {
  try {
    await api.decide(execution.workflowId);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
  }
  const after = await api.readWhole(execution.workflowId);
  return after !== null && !isRunning(after);
}

function isRunning({ status }: WholeExecution): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

async function resume(
  executionId: string,
  otherwise: readonly StartWorkflowRequest[],
  api: ExecutionApi,
): Promise<Done> {
  try {
    await api.retry(executionId);
    return { action: 'retried', started: [] };
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'refused') throw error;
    return { action: 'started', started: await startAll(otherwise, api) };
  }
}

async function startAll(requests: readonly StartWorkflowRequest[], api: ExecutionApi): Promise<string[]> {
  const started: string[] = [];
  for (const request of requests) started.push(await api.start(request));
  return started;
}
