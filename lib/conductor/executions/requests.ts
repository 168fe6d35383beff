// Builds requests to the engine's workflow API, for clients with different deadlines and error handling.

import { EngineError } from '../engine-error.ts';
import type { EngineRequest, EngineResponse } from '../send-call.ts';
import type { StartWorkflowRequest } from '../types.ts';
import { isExecutionId } from './names.ts';

/** Returns a request that starts a pinned workflow version. */
export function startRequest(request: StartWorkflowRequest): EngineRequest {
  return { method: 'POST', path: '/api/workflow', ...jsonBody(request) };
}

/** Returns the execution id in the response to a start. @throws EngineError `interrupted` when there is none */
export function startedId({ body }: EngineResponse): string {
  const executionId = body.toString('utf8');
  if (isExecutionId(executionId)) return executionId;
  throw new EngineError('interrupted', 'the engine responded to a start with something other than an execution id');
}

/**
 * Returns a request for the status and, optionally, the output. The engine reads only one row for it, without tasks.
 */
export function statusRequest(executionId: string, { includeOutput }: { includeOutput: boolean }): EngineRequest {
  return { method: 'GET', path: `${pathOf(executionId)}/status?includeOutput=${includeOutput}` };
}

/** Returns a request for an execution, with or without its tasks, which repeat input and output. */
export function executionRequest(executionId: string, { includeTasks }: { includeTasks: boolean }): EngineRequest {
  return { method: 'GET', path: `${pathOf(executionId)}?includeTasks=${includeTasks}` };
}

/**
 * Returns a request for the executions of a workflow with a correlation id, including ended ones, from the execution
 * store.
 */
export function correlatedRequest(
  name: string,
  correlationId: string,
  { includeTasks }: { includeTasks: boolean },
): EngineRequest {
  const names = [name, 'correlated', correlationId].map(encodeURIComponent).join('/');
  return { method: 'GET', path: `/api/workflow/${names}?includeClosed=true&includeTasks=${includeTasks}` };
}

/** Returns a request that terminates an execution. @param reason visible to everyone who can read the execution */
export function terminateRequest(executionId: string, reason: string): EngineRequest {
  return { method: 'DELETE', path: `${pathOf(executionId)}?${new URLSearchParams({ reason })}` };
}

/**
 * Returns a request that changes the state of an execution. `retry` resumes a failed execution at its last failed or
 * cancelled task.
 */
export function transitionRequest(executionId: string, transition: 'pause' | 'resume' | 'retry'): EngineRequest {
  return { method: transition === 'retry' ? 'POST' : 'PUT', path: `${pathOf(executionId)}/${transition}` };
}

/** Returns the header fields and the body of a JSON request. */
export function jsonBody(value: unknown): { headers: Record<string, string>; body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function pathOf(executionId: string): string {
  return `/api/workflow/${encodeURIComponent(executionId)}`;
}
