// Determines the problem document for a failed start. The document tells the client whether an execution may have
// started.

import { EngineError } from '#lib/conductor/engine-error.ts';
import type { ExecutionIndex } from '#lib/conductor/executions/execution-index.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import { Problem } from '#lib/problem/problem.ts';
import { engineUnavailable } from './engine-unavailable.ts';
import { before, lateReadMs, remainingMs } from './time-limits.ts';

/** The start request that failed, and whether it may be repeated. */
export interface FailedStart {
  readonly request: StartWorkflowRequest;
  /** True for safe methods: the request may be repeated. */
  readonly readOnly: boolean;
  /** Time just before the request was sent to the engine, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Response deadline, by performance.now(). */
  readonly deadlineAt: number;
}

/** Timeout for asking the engine whether it has an execution, in milliseconds. */
const lookupTimeoutMs = 1_500;
/**
 * Largest expected difference between the clocks of the engine and of the routers, in milliseconds. An execution that
 * started earlier than the request by more than this difference belongs to another request: clients may reuse an
 * `X-Request-Id`, which becomes the correlation id. The value is large, because if a write's execution were missed, the
 * client would repeat the write.
 */
const maxClockDifferenceMs = 900_000;
/**
 * Number of bytes that are kept of each string in the engine's response. No workflow name is longer, and inputs and
 * outputs are not needed.
 */
const longestString = 1_024;

/**
 * Returns the problem for a failed start. After a 500 the engine may still have stored the execution and run it later,
 * as observed with a locked or full database. A write is therefore reported as not started only after the engine has
 * confirmed that the execution does not exist.
 * @returns `outcome-unknown` (504) when the connection broke after the request was sent, or when a write may have been
 *   started; otherwise `engine-unavailable` or `definition-missing` (503): nothing was started, or only a read
 */
export async function startProblem(
  error: unknown,
  { readOnly, ...failed }: FailedStart,
  executions: Pick<ExecutionIndex, 'correlated'>,
): Promise<Problem> {
  if (!(error instanceof EngineError) || error.kind === 'interrupted') {
    const detail =
      'The engine did not confirm the start: the connection broke or timed out, or the response was invalid.';
    return outcomeUnknown(detail, { readOnly, cause: error });
  }
  if (error.status === 404) {
    const { request } = failed;
    const detail = `${request.name} version ${request.version} is not registered.`;
    return new Problem('definition-missing', { detail, headers: { 'retry-after': '5' }, cause: error });
  }
  if (!error.hadNoEffect && !readOnly && !(await isAbsent(error, failed, executions))) {
    return outcomeUnknown('The engine failed while the workflow was being started.', { readOnly, cause: error });
  }
  return engineUnavailable(error);
}

/**
 * Returns true when the engine confirms that the execution does not exist. The engine is asked only after a 500: any
 * other 5xx may come from a proxy, behind which the start may still be in progress.
 */
async function isAbsent(
  { status }: EngineError,
  { request: { name, correlationId }, startedAt, deadlineAt }: Omit<FailedStart, 'readOnly'>,
  executions: Pick<ExecutionIndex, 'correlated'>,
): Promise<boolean> {
  if (status !== 500 || correlationId === undefined) return false;
  const until = Math.min(performance.now() + lookupTimeoutMs, deadlineAt + lateReadMs);
  const startedAfter = startedAt - maxClockDifferenceMs;
  const options = { startedAfter, timeoutMs: remainingMs(until), longestString };
  const found = await before(until, executions.correlated(name, correlationId, options));
  return found?.length === 0;
}

function outcomeUnknown(detail: string, { readOnly, cause }: { readOnly: boolean; cause: unknown }): Problem {
  return new Problem('outcome-unknown', { detail, extensions: { mayStillComplete: !readOnly }, cause });
}
