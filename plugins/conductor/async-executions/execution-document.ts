// The status document of an execution: its state, its times and its links.

import { isCancelled } from '#lib/conductor/executions/cancelled.ts';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasEnded } from '#lib/conductor/executions/has-ended.ts';
import { hasResponse, isUnreported } from '#lib/conductor/executions/reconciler-terminations.ts';
import { inboundOf } from '../execution/client-executions.ts';
import type { ExecutionLinks, LinksOf } from '../execution/links.ts';

/**
 * States of an execution. `failed`: there is no response from the back end; the link `response` returns the problem.
 */
export const executionStates = ['running', 'completed', 'failed', 'timed-out', 'cancelled'] as const;

/** One of {@link executionStates}. */
export type ExecutionState = (typeof executionStates)[number];

/** Body of `GET /executions/{id}`. Times are in RFC 3339 format and come from the engine's clock. */
export interface ExecutionDocument {
  readonly id: string;
  readonly state: ExecutionState;
  /** Name of the apiEndpoint that received the request. */
  readonly route: string;
  readonly method: string;
  /** `X-Request-Id` of the request that started the execution. */
  readonly requestId: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly links: ExecutionLinks;
}

/** Returns the status document of an execution. */
export function documentOf(execution: WholeExecution, linksOf: LinksOf): ExecutionDocument {
  const { workflowId, startTime, endTime } = execution;
  const { route, httpMethod, requestId } = inboundOf(execution);
  const state = stateOf(execution);
  return {
    id: workflowId,
    state,
    route,
    method: httpMethod,
    requestId,
    startedAt: new Date(startTime).toISOString(),
    ...(state === 'running' ? {} : { endedAt: new Date(endTime).toISOString() }),
    links: linksOf(workflowId),
  };
}

function stateOf(execution: WholeExecution): ExecutionState {
  const { status } = execution;
  if (!hasEnded(execution)) return 'running';
  if (hasResponse(execution)) return 'completed';
  if (status === 'TIMED_OUT' || isUnreported(execution)) return 'timed-out';
  return isCancelled(execution) ? 'cancelled' : 'failed';
}
