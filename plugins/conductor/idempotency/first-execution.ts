// Finds the execution that was started for an Idempotency-Key (by its correlation id) and compares its request with the
// current one. The execution itself is the record of the key.

import { isDeepStrictEqual } from 'node:util';
import { EngineError } from '#lib/conductor/engine-error.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { isSuperseded } from '#lib/conductor/executions/superseded.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { Problem } from '#lib/problem/problem.ts';
import { inboundOf } from '../execution/client-executions.ts';

/** The part of the execution API that finds the execution for a key. */
export type KeyedExecutions = Pick<ExecutionApi, 'correlated' | 'search' | 'readWhole' | 'decide'>;

/**
 * Minimum age, in milliseconds, at which the engine is asked to re-evaluate an execution that has no row in the index.
 */
const unindexedMs = 60_000;

/** Maximum number of executions that are read for one key. Only one of them has not been superseded. */
const maxExecutions = 5;

/** A request with an Idempotency-Key. */
export interface KeyedStart {
  /** Result of `nameOfKey` for client and key: the correlation id of the execution. */
  readonly name: string;
  /** Workflow definition that the request starts. */
  readonly workflow: string;
  readonly request: InboundRequest;
  /** Time (performance.now()) from which nothing is started any more. */
  readonly startBefore: number;
}

/**
 * Returns the execution that was started for a key; undefined when there is none.
 * @param isStrict when false, only the engine's index is searched, which is fast on every engine. When true and the
 *   index has no result, the engine's execution store is searched too, because the index may lag behind. If an
 *   execution is found only in the store, has not ended and is not recent, the engine is asked to evaluate it
 * @throws EngineError
 */
export async function findFirst(
  { name, workflow, request }: KeyedStart,
  isStrict: boolean,
  api: KeyedExecutions,
): Promise<WholeExecution | undefined> {
  const isOurs = (execution: WholeExecution) =>
    inboundOf(execution).clientId === request.clientId && !isSuperseded(execution);
  const { executions } = await api.search({ correlationIds: [name] }, { offset: 0, size: maxExecutions });
  const row = executions.find((summary) => !isSuperseded(summary));
  const indexed = row === undefined ? null : await api.readWhole(row.workflowId, { includeTasks: false });
  if (indexed !== null && isOurs(indexed)) return indexed;
  const stored = isStrict ? (await api.correlated(workflow, name)).find(isOurs) : undefined;
  if (stored !== undefined && !hasEnded(stored) && Date.now() - stored.startTime > unindexedMs)
    await evaluate(stored.workflowId, api);
  return stored;
}

/**
 * Makes the engine schedule the task of an execution, in case the engine was killed right after it had stored the
 * execution. The reconciler, which reads the index, does not find such an execution. The call does not affect an
 * execution whose task is scheduled.
 */
async function evaluate(executionId: string, api: KeyedExecutions): Promise<void> {
  try {
    await api.decide(executionId);
  } catch (error) {
    // The execution still counts as running, so the client is told that the key is in use.
    if (!(error instanceof EngineError)) throw error;
  }
}

/**
 * Returns whether a request equals the one for which an execution was started: method, target and body, byte for byte.
 * The engine keeps the whole request, so no digest is stored.
 * @throws Problem `payload-unreadable` when the first request was encrypted with a key that is not configured here
 */
export function isSameRequest(execution: WholeExecution, request: InboundRequest, codec: PayloadCodec): boolean {
  const { body, ...target } = unpack(execution, codec);
  return isDeepStrictEqual(targetOf(target), targetOf(request)) && body.equals(request.body);
}

function targetOf({
  httpMethod,
  route,
  path,
  query,
  params,
}: Omit<InboundRequest, 'body' | 'query'> & { query?: string | undefined }) {
  return { httpMethod, route, path, query, params: { ...params } };
}

function unpack({ input }: WholeExecution, codec: PayloadCodec) {
  try {
    return codec.unpackInbound(input['inbound']);
  } catch (cause) {
    if (!(cause instanceof PayloadUnreadable)) throw cause;
    throw new Problem('payload-unreadable', {
      detail: `The first request with this key cannot be read: ${cause.message}.`,
      cause,
    });
  }
}
