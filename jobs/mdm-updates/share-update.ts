// Starts the workflow that shares one MDM update with a college.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { ExecutionRecorder } from '#lib/records/recorder.ts';
import { notifyWorkflow, systemLoop } from '#lib/conductor/definitions/mdm-workflows.ts';
import type { MdmDefinitions } from '../reconcile/mdm-definitions.ts';
import { hasInput } from '../reconcile/same-work.ts';
import type { Update } from './read-update.ts';

/** Dependencies of {@link startShare}. */
export interface ShareDependencies {
  readonly executions: Pick<ExecutionApi, 'correlated' | 'start'>;
  /** Records starts for an engine without an index. */
  readonly recorder: Pick<ExecutionRecorder, 'starting'>;
}

/**
 * Returns the request that starts mdm-shareWF for an update. An execution of mdmWF leads to the same request when MDM
 * names this college in its response.
 * @returns undefined when the college has no event handler, or no handler starts mdmWF
 */
export function shareOf(update: Update, definitions: MdmDefinitions): StartWorkflowRequest | undefined {
  const version = definitions.notifyVersion;
  if (version === undefined) return undefined;
  const source = { requestId: update.updateId, executionId: update.updateId };
  const scope = { workflow: { input: source }, [systemLoop]: { output: { loopItem: update } } };
  const origin = { workflowName: notifyWorkflow, workflowVersion: version };
  // Conditions are ignored because mdmWF published no event against which they could be evaluated.
  return definitions.startsAfter(origin, scope, { ignoresConditions: true })[0];
}

/**
 * Starts mdm-shareWF for an update unless it was started before. The engine has no idempotent start: if two routers
 * start the workflow for one update at the same time, there are two executions, and the adaptor receives two requests
 * with the same Idempotency-Key.
 * @param isRepeat true when the message was delivered before, or an earlier start request may have reached the engine;
 *   an existing execution is then looked up first
 * @throws EngineError; NoExecutionIndex when the execution cannot be looked up, or its record cannot be written
 */
export async function startShare(
  share: StartWorkflowRequest,
  { executions, recorder }: ShareDependencies,
  isRepeat: boolean,
): Promise<void> {
  if (isRepeat && (await isStarted(share, executions))) return;
  const record = await recorder.starting(share, { isLookedUp: true });
  try {
    record.started(await executions.start(share));
  } catch (error) {
    if (error instanceof EngineError && error.hadNoEffect) record.notStarted();
    throw error;
  }
}

/**
 * Returns true when an execution with the same input exists and has tasks. An engine that is killed while it starts an
 * execution can leave the execution without tasks and without a row in the index. Nothing would ever find such an
 * execution, so it does not count as started.
 */
async function isStarted(
  { name, correlationId = '', input }: StartWorkflowRequest,
  executions: Pick<ExecutionApi, 'correlated'>,
): Promise<boolean> {
  const correlated = await executions.correlated(name, correlationId, { includeTasks: true });
  return correlated.some((other) => other.tasks.length > 0 && hasInput(other.input, input));
}
