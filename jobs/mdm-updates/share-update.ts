// Starts the share of one update.

import { correlatedRequest } from '#lib/conductor/executions/requests.ts';
import { expectSuccess, parseResponse } from '#lib/conductor/read-response.ts';
import type { Engine } from '#lib/conductor/engine.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { type MdmDefinitions, notifyWorkflow } from '../reconcile/mdm-definitions.ts';
import type { Update } from './read-update.ts';

/**
 * Returns the start of the share of an update: what mdmWF would start if MDM named this college in its response.
 * @returns undefined when the college has no event handler, or no handler starts mdmWF
 */
export function shareOf(update: Update, definitions: MdmDefinitions): StartWorkflowRequest | undefined {
  const version = definitions.notifyVersion;
  if (version === undefined) return undefined;
  const source = { requestId: update.updateId, executionId: update.updateId };
  const scope = { workflow: { input: source }, each_system: { output: { loopItem: update } } };
  return definitions.startsAfter({ workflowName: notifyWorkflow, workflowVersion: version }, scope)[0];
}

/**
 * Starts a share unless it was started before. The engine has no idempotent start: while another router's start is in
 * flight, both routers start an execution, and the adaptor receives two requests with the same Idempotency-Key.
 * @param isRepeat the message was delivered before, or an earlier start may have arrived: the engine is asked first
 * @throws EngineError
 */
export async function startShare(share: StartWorkflowRequest, engine: Engine, isRepeat: boolean): Promise<void> {
  if (isRepeat && (await isStarted(share, engine))) return;
  await engine.startWorkflow(share);
}

/**
 * Reads the engine's store, not its index. An engine that is killed while it starts an execution can leave an execution
 * without tasks and without a row in the index. Nothing would ever find that one, so it does not count as started.
 */
async function isStarted({ name, correlationId = '', input }: StartWorkflowRequest, engine: Engine): Promise<boolean> {
  const request = correlatedRequest(name, correlationId, { includeTasks: true });
  const response = expectSuccess(await engine.request(request), 'correlated');
  const executions: { readonly input: Record<string, unknown>; readonly tasks: readonly unknown[] }[] =
    parseResponse(response);
  return executions.some(
    (other) => other.tasks.length > 0 && Object.entries(input).every(([field, value]) => other.input[field] === value),
  );
}
