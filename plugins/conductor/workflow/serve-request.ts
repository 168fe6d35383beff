// Serves a request: starts its execution once, waits for the end, and sends the response now or links for later.

import type { Response } from 'express';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { hasLeft } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import { type ResponseOptions, responseOf, sendResponse } from '../execution/response.ts';
import { isRead } from '../execution/client-executions.ts';
import type { AsyncExecutions } from '../async-executions/async-executions.ts';
import type { ExecutionLinks } from '../execution/links.ts';
import type { WaitPolicy } from '../async-executions/preferences.ts';
import { sendDocument } from '../async-executions/send-document.ts';
import { sendOutcome } from '../async-executions/send-outcome.ts';
import { type Execution, type ExecutionDependencies, startExecution, waitForEnd } from '../execution/executions.ts';
import type { KeyedStart } from '../idempotency/first-execution.ts';
import type { IdempotentStart } from '../idempotency/idempotent-start.ts';
import type { TelemetryIndex } from '../telemetry/telemetry-index.ts';
import type { ExecutionTelemetry } from '../telemetry/execution-telemetry.ts';
import type { Versions } from '../versions/create-versions.ts';

/** What serving requests depends on. */
export interface WorkflowDependencies extends ExecutionDependencies {
  responseOptions: ResponseOptions;
  idempotentStart: IdempotentStart;
  asyncExecutions: AsyncExecutions;
  telemetry: TelemetryIndex;
  versions: Versions;
}

/** A request for an execution. */
export interface ExecutionRequest {
  /** The start request for the engine. */
  readonly start: StartWorkflowRequest & { correlationId: string };
  readonly received: InboundRequest;
  /** True: `start.correlationId` is derived from an Idempotency-Key, and at most one execution is started for it. */
  readonly isKeyed: boolean;
  readonly waitPolicy: WaitPolicy;
  /** Response deadline of the route for requests without a `wait` preference, in milliseconds from arrival. */
  readonly deadlineMs: number;
  /** Shows another version than the chosen one in the log and the response. */
  readonly showVersion: (version: number, response: Response) => void;
}

/** The parts of a request that identify the recorded response of its Idempotency-Key. */
export type RecordedRequest = Pick<ExecutionRequest, 'received' | 'showVersion'> & {
  readonly start: Pick<ExecutionRequest['start'], 'name' | 'correlationId'>;
};

/** The client's side of a request. */
export interface ClientExchange {
  readonly context: RequestContext;
  readonly response: Response;
  readonly clientGone: AbortSignal;
  /** Telemetry of the execution. */
  readonly telemetry: ExecutionTelemetry;
}

/** Serves a request. @throws Problem for every response that does not come from the back end */
export async function serveRequest(
  request: ExecutionRequest,
  exchange: ClientExchange,
  dependencies: WorkflowDependencies,
): Promise<void> {
  const { context, response, clientGone, telemetry } = exchange;
  const { waitPolicy, received } = request;
  const readOnly = isRead(received.httpMethod);
  const execution = await startOrReplay(request, exchange, dependencies);
  if (execution === null) return;
  const { executionId } = execution;
  const { answersLater: respondsAsync } = waitPolicy;
  const { linksOf } = dependencies.responseOptions;
  const deadlineMs = respondsAsync && waitPolicy.waitMs === 0 ? 0 : remainingMs(waitPolicy.waitMs, context);
  const ended = await waitForEnd(execution, { deadlineMs, readOnly, clientGone, respondsAsync, linksOf }, dependencies);
  telemetry.ended(ended !== null && ended !== 'later');
  if (ended === null) return telemetry.answered(response, 'client-gone');
  if (ended === 'later') {
    telemetry.answered(response, 'deferred');
    context.goesOn = dependencies.asyncExecutions.follow(executionId, {
      budgetMs: remainingMs(request.deadlineMs, context),
      readOnly,
    });
    void context.goesOn.then((ending) => telemetry.settled(ending));
    return sendAccepted({ id: executionId, links: linksOf(executionId) }, request, exchange);
  }
  const backEndResponse = responseOf(ended, { ...dependencies.responseOptions, readOnly });
  const sent = (await context.compress?.(backEndResponse)) ?? backEndResponse;
  response.setHeader('x-execution-id', executionId);
  telemetry.answered(response, 'answered', backEndResponse.status);
  sendResponse(response, sent);
}

/**
 * Starts the execution of a request, or replays the response of its Idempotency-Key.
 * @returns null when the client has disconnected or a response was replayed
 */
async function startOrReplay(
  request: ExecutionRequest,
  exchange: ClientExchange,
  dependencies: WorkflowDependencies,
): Promise<Execution | null> {
  const { context, response, clientGone, telemetry } = exchange;
  const { received, waitPolicy, deadlineMs } = request;
  const options = {
    readOnly: isRead(received.httpMethod),
    // A shorter wait preference does not shorten the time for the start.
    deadlineMs: remainingMs(Math.max(deadlineMs, waitPolicy.waitMs), context),
    respondsAsync: waitPolicy.answersLater,
    isKeyed: request.isKeyed,
  };
  const start = async () => {
    telemetry.starting();
    const execution = await startExecution(request.start, options, dependencies);
    context.executionId = execution.executionId;
    context.onStarted?.(execution.executionId);
    dependencies.telemetry.started(execution.executionId, telemetry);
    return execution;
  };
  if (!options.readOnly && (await hasLeft(response))) return null;
  expectTimeLeft(Math.max(deadlineMs, waitPolicy.waitMs), context);
  if (!request.isKeyed) return start();
  const outcome = await dependencies.idempotentStart.start(keyedStart(request, exchange), clientGone, start);
  if (outcome === null) return null;
  if ('started' in outcome) return outcome.started;
  // A replay tells nothing about the current health of the back end.
  context.goesOn = Promise.resolve({ problem: undefined, clientGone: true });
  await replay(outcome.first, exchange, dependencies);
  return null;
}

/**
 * Serves a request that the admission policy rejects: replays the recorded response of its Idempotency-Key.
 * @throws Problem `refusal` when there is no recorded response
 */
export async function serveRefused(
  request: RecordedRequest,
  { refusal, ...exchange }: Pick<ClientExchange, 'context' | 'response'> & { refusal: Problem },
  dependencies: Pick<WorkflowDependencies, 'idempotentStart' | 'responseOptions'>,
): Promise<void> {
  const first = await dependencies.idempotentStart.findRecorded(keyedStart(request, exchange));
  if (first === undefined) throw refusal;
  await replay(first, exchange, dependencies);
}

function keyedStart(
  { start: { name, correlationId }, received, showVersion }: RecordedRequest,
  { context, response }: Pick<ClientExchange, 'context' | 'response'>,
): KeyedStart {
  return {
    name: correlationId,
    workflow: name,
    request: received,
    noteFirst({ workflowId, workflowVersion }) {
      context.executionId = workflowId;
      showVersion(workflowVersion, response);
    },
  };
}

async function replay(
  first: WholeExecution,
  { context, response }: Pick<ClientExchange, 'context' | 'response'>,
  { responseOptions }: Pick<WorkflowDependencies, 'responseOptions'>,
): Promise<void> {
  context.reason = 'replayed: the first response for its Idempotency-Key';
  await sendOutcome(response, first, { answers: responseOptions, headers: { 'idempotency-replayed': 'true' } });
}

/** Sends a 202 (RFC 9110 section 15.3.3) with the execution's links and the applied preferences (RFC 7240 section 3). */
function sendAccepted(
  { id, links }: { id: string; links: ExecutionLinks },
  { waitPolicy, received }: ExecutionRequest,
  { context, response }: ClientExchange,
): void {
  const { route, httpMethod, requestId } = received;
  context.reason = 'deferred: the client got links to retrieve the response later';
  sendDocument(response, 202, {
    body: { id, state: 'running', route, method: httpMethod, requestId, links },
    headers: {
      location: links.self,
      'retry-after': '1',
      'preference-applied': waitPolicy.applied,
      'x-execution-id': id,
    },
  });
}

/** @throws Problem `overloaded` (503) when the deadline has passed before the start, because the router was suspended */
function expectTimeLeft(deadlineMs: number, { arrivedAt = performance.now() }: RequestContext): void {
  if (performance.now() - arrivedAt < deadlineMs) return;
  throw new Problem('overloaded', { detail: 'Nothing was started in time.', headers: { 'retry-after': '1' } });
}

/** Returns the time until the response deadline in milliseconds, at least 1. */
function remainingMs(deadlineMs: number, { arrivedAt = performance.now() }: RequestContext): number {
  return Math.max(1, Math.round(deadlineMs - (performance.now() - arrivedAt)));
}
