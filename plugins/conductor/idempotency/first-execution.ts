// The record of a key is the execution that it started: found by its correlation id, compared by the request it keeps.

import { isDeepStrictEqual } from 'node:util';
import type { ExecutionApi, WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import { isSuperseded } from '#lib/conductor/executions/superseded.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { Problem } from '#lib/problem/problem.ts';
import { inboundOf } from '../execution/client-executions.ts';

/** Executions of one key that are looked at: one, but for those that were superseded. */
const mostExecutions = 5;

export interface KeyedStart {
  /** Stands for client and key; the execution's correlation id. */
  readonly name: string;
  /** Definition that would be started. */
  readonly workflow: string;
  readonly request: InboundRequest;
  /** Told of the execution that an earlier request has started. */
  readonly noteFirst: (first: WholeExecution) => void;
}

/**
 * The execution that a key has started; undefined when it has started none.
 * @param isStrict false: what the engine's index says will do, which is quick on every engine. True: what it does not
 *   say is looked for where the engine keeps its executions, because an index may be late
 * @throws EngineError
 */
export async function findFirst(
  { name, workflow, request }: KeyedStart,
  isStrict: boolean,
  api: Pick<ExecutionApi, 'correlated' | 'search' | 'readWhole'>,
): Promise<WholeExecution | undefined> {
  const isOurs = (execution: WholeExecution) =>
    inboundOf(execution).clientId === request.clientId && !isSuperseded(execution);
  const { executions } = await api.search({ correlationIds: [name] }, { offset: 0, size: mostExecutions });
  const row = executions.find((summary) => !isSuperseded(summary));
  const indexed = row === undefined ? null : await api.readWhole(row.workflowId, { includeTasks: false });
  if (indexed !== null && isOurs(indexed)) return indexed;
  return isStrict ? (await api.correlated(workflow, name)).find(isOurs) : undefined;
}

/**
 * Whether a request is the one that an execution was started for: method, target and body, byte for byte. The engine has
 * the whole of it, so that nothing else of it has to be kept, not even a digest.
 * @throws Problem `payload-unreadable` when it was encrypted with a key that is not here
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
