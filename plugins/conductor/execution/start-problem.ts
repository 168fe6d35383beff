// What a client is told when its workflow was not started, or perhaps was.

import type { Engine } from '#lib/conductor/engine.ts';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { Problem } from '#lib/problem/problem.ts';

export interface FailedStart {
  readonly request: StartWorkflowRequest;
  /** True when nothing is lost if it is done twice. */
  readonly readOnly: boolean;
}

/** How long the engine may take to say whether it has an execution, in milliseconds. */
const lookMs = 1_500;

/**
 * The engine's own 500 says nothing of what it had stored by then: with a locked or full database it has been seen to
 * keep the execution and run it later. Before a write is called "not started" the engine is asked for it.
 * @returns `engine-unavailable` or `definition-missing` (503) only when nothing was started or nothing is lost by
 *   repeating it; else `outcome-unknown` (504)
 */
export async function startProblem(
  error: unknown,
  { request, readOnly }: FailedStart,
  engine: Pick<Engine, 'hasExecution'>,
): Promise<Problem> {
  if (!(error instanceof EngineError) || error.kind === 'interrupted') {
    return unknown('The connection to the engine broke while the workflow was being started.', error);
  }
  if (error.status === 404) {
    const detail = `${request.name} version ${request.version} is not registered.`;
    return new Problem('definition-missing', { detail, headers: { 'retry-after': '5' }, cause: error });
  }
  const mayBeStarted = error.kind === 'refused' && (error.status ?? 500) >= 500;
  if (mayBeStarted && !readOnly && !(await isAbsent(error, request, engine))) {
    return unknown('The engine failed while the workflow was being started.', error);
  }
  return new Problem('engine-unavailable', { headers: { 'retry-after': '1' }, cause: error });
}

/** Any other 5xx may come from something in between, behind which the start is still under way. */
async function isAbsent(
  { status }: EngineError,
  { name, correlationId }: StartWorkflowRequest,
  engine: Pick<Engine, 'hasExecution'>,
): Promise<boolean> {
  if (status !== 500 || correlationId === undefined) return false;
  return engine.hasExecution(name, { correlationId, timeoutMs: lookMs }).then(
    (found) => !found,
    () => false,
  );
}

function unknown(detail: string, cause: unknown): Problem {
  return new Problem('outcome-unknown', { detail, extensions: { mayStillComplete: true }, cause });
}
