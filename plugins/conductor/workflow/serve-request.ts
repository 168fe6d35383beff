// From a request to its answer: started once, waited for as long as the client will, answered now or later.

import type { Response } from 'express';
import type { WholeExecution } from '#lib/conductor/executions/execution-api.ts';
import type { StartWorkflowRequest } from '#lib/conductor/types.ts';
import type { InboundRequest } from '#lib/envelope/inbound.ts';
import type { RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { hasLeft } from '../../../gateway/plugin-api/signal-when-gone.ts';
import { Problem } from '#lib/problem/problem.ts';
import { type AnswerOptions, answerOf, sendAnswer } from '../execution/response.ts';
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

export interface WorkflowDependencies extends ExecutionDependencies {
  answers: AnswerOptions;
  once: IdempotentStart;
  deferred: AsyncExecutions;
  watch: TelemetryIndex;
  versions: Versions;
}

/** What a request asks for. */
export interface ExecutionRequest {
  /** The execution it becomes. */
  readonly start: StartWorkflowRequest & { correlationId: string };
  readonly received: InboundRequest;
  /** True: `start.correlationId` stands for an Idempotency-Key; nothing is started for it twice. */
  readonly isKeyed: boolean;
  readonly patience: WaitPolicy;
  /** How long a client of this route waits that prefers nothing, in milliseconds. */
  readonly budgetMs: number;
  /** Log and answer name another version than the one that was chosen. */
  readonly showVersion: (version: number, response: Response) => void;
}

/** What a key stands for. */
export type RecordedRequest = Pick<ExecutionRequest, 'received' | 'showVersion'> & {
  readonly start: Pick<ExecutionRequest['start'], 'name' | 'correlationId'>;
};

/** Who asks. */
export interface Exchange {
  readonly context: RequestContext;
  readonly response: Response;
  readonly clientGone: AbortSignal;
  /** What is seen of its execution. */
  readonly watched: ExecutionTelemetry;
}

/** @throws Problem, whatever the client is to be told instead of an answer of the back end */
export async function serveRequest(
  wanted: ExecutionRequest,
  exchange: Exchange,
  parts: WorkflowDependencies,
): Promise<void> {
  const { context, response, clientGone, watched } = exchange;
  const { patience, received } = wanted;
  const readOnly = isRead(received.httpMethod);
  const execution = await begin(wanted, exchange, parts);
  if (execution === null) return;
  const { executionId } = execution;
  const { answersLater } = patience;
  const { linksOf } = parts.answers;
  const budgetMs = answersLater && patience.waitMs === 0 ? 0 : leftOf(patience.waitMs, context);
  const ended = await waitForEnd(execution, { budgetMs, readOnly, clientGone, answersLater, linksOf }, parts);
  watched.ended(ended !== null && ended !== 'later');
  if (ended === null) return watched.answered(response, 'client-gone');
  if (ended === 'later') {
    watched.answered(response, 'deferred');
    context.goesOn = parts.deferred.follow(executionId, { budgetMs: leftOf(wanted.budgetMs, context), readOnly });
    void context.goesOn.then((ending) => watched.settled(ending));
    return sendAccepted({ id: executionId, links: linksOf(executionId) }, wanted, exchange);
  }
  const answer = answerOf(ended, { ...parts.answers, readOnly });
  const sent = (await context.compress?.(answer)) ?? answer;
  response.setHeader('x-execution-id', executionId);
  watched.answered(response, 'answered', answer.status);
  sendAnswer(response, sent);
}

/** The execution that was started for this request; null when there is nobody, or nothing more, to answer. */
async function begin(
  wanted: ExecutionRequest,
  exchange: Exchange,
  parts: WorkflowDependencies,
): Promise<Execution | null> {
  const { context, response, clientGone, watched } = exchange;
  const { received, patience, budgetMs } = wanted;
  const options = {
    readOnly: isRead(received.httpMethod),
    // A client that waits less, or not at all, wants its execution started none the less.
    budgetMs: leftOf(Math.max(budgetMs, patience.waitMs), context),
    answersLater: patience.answersLater,
    isKeyed: wanted.isKeyed,
  };
  const start = async () => {
    watched.starting();
    const execution = await startExecution(wanted.start, options, parts);
    context.executionId = execution.executionId;
    context.onStarted?.(execution.executionId);
    parts.watch.started(execution.executionId, watched);
    return execution;
  };
  if (!options.readOnly && (await hasLeft(response))) return null;
  expectTimeLeft(Math.max(budgetMs, patience.waitMs), context);
  if (!wanted.isKeyed) return start();
  const once = await parts.once.start(keyedStart(wanted, exchange), clientGone, start);
  if (once === null) return null;
  if ('started' in once) return once.started;
  // It says nothing of how the back end is now.
  context.goesOn = Promise.resolve({ problem: undefined, clientGone: true });
  await replay(once.first, exchange, parts);
  return null;
}

/**
 * Answers a request that the admission policy refuses: with the recorded response to the first one with its key.
 * @throws Problem `refusal` when there is none
 */
export async function serveRefused(
  wanted: RecordedRequest,
  { refusal, ...exchange }: Pick<Exchange, 'context' | 'response'> & { refusal: Problem },
  parts: Pick<WorkflowDependencies, 'once' | 'answers'>,
): Promise<void> {
  const first = await parts.once.findRecorded(keyedStart(wanted, exchange));
  if (first === undefined) throw refusal;
  await replay(first, exchange, parts);
}

function keyedStart(
  { start: { name, correlationId }, received, showVersion }: RecordedRequest,
  { context, response }: Pick<Exchange, 'context' | 'response'>,
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
  { context, response }: Pick<Exchange, 'context' | 'response'>,
  { answers }: Pick<WorkflowDependencies, 'answers'>,
): Promise<void> {
  context.reason = 'replayed: the first answer for its Idempotency-Key';
  await sendOutcome(response, first, { answers, headers: { 'idempotency-replayed': 'true' } });
}

/** 202 (RFC 9110 section 15.3.3): where the execution is, and what of the preferences was applied (RFC 7240 section 3). */
function sendAccepted(
  { id, links }: { id: string; links: ExecutionLinks },
  { patience, received }: ExecutionRequest,
  { context, response }: Exchange,
): void {
  const { route, httpMethod, requestId } = received;
  context.reason = 'deferred: the client was told where to look';
  sendDocument(response, 202, {
    body: { id, state: 'running', route, method: httpMethod, requestId, links },
    headers: {
      location: links.self,
      'retry-after': '1',
      'preference-applied': patience.applied,
      'x-execution-id': id,
    },
  });
}

/** @throws Problem `overloaded` (503) when the budget was spent before anything was started: this router was suspended */
function expectTimeLeft(budgetMs: number, { arrivedAt = performance.now() }: RequestContext): void {
  if (performance.now() - arrivedAt < budgetMs) return;
  throw new Problem('overloaded', { detail: 'Nothing was started in time.', headers: { 'retry-after': '1' } });
}

/** What of the budget has not been spent in the queue and on the start. */
function leftOf(budgetMs: number, { arrivedAt = performance.now() }: RequestContext): number {
  return Math.max(1, Math.round(budgetMs - (performance.now() - arrivedAt)));
}
