// The outcome of a request for an execution: what the client receives, and how circuit breakers and version guards
// count it.

import type { Response } from 'express';
import type { WholeExecution } from '#lib/conductor/executions/execution.ts';
import { hasResponse } from '#lib/conductor/executions/reconciler-terminations.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import type { ProblemCode } from '#lib/problem/catalogue.ts';
import { Problem, toProblem } from '#lib/problem/problem.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import { inboundOf } from './client-executions.ts';
import { type ResponseOptions, responseOf, sendResponse } from './response.ts';
import { sendDocument } from './send-document.ts';

/** Header fields that are added to the response. */
type AddedHeaders = Readonly<Record<string, string>>;

/** What the client of an execution receives. */
export type Outcome = (
  | { readonly kind: 'response'; readonly response: BackEndResponse }
  | {
      /** The execution continues, and the client receives 202. */
      readonly kind: 'accepted';
      readonly document: object;
      /** Resolves when the execution has ended, or is no longer followed. Never rejects. */
      readonly settled: Promise<ExecutionEnding>;
    }
  | { readonly kind: 'problem'; readonly problem: Problem }
  /** The client has already disconnected. */
  | { readonly kind: 'client-gone' }
) & { readonly headers?: AddedHeaders };

/** How an execution ended, as circuit breakers and version guards count it. */
export interface ExecutionEnding {
  /** Code of the problem that the client receives; undefined when the response is the back end's. */
  readonly problem: ProblemCode | undefined;
  /** Status code of the back end's response, where known. */
  readonly status?: number | undefined;
  /** True when the client had left before the execution ended. */
  readonly clientGone: boolean;
}

/** Returns the outcome with additional header fields. */
export function withHeaders(outcome: Outcome, headers: AddedHeaders): Outcome {
  return { ...outcome, headers: { ...outcome.headers, ...headers } };
}

/** Returns the outcome that corresponds to an error. */
export function problemOutcome(error: unknown): Outcome {
  return { kind: 'problem', problem: toProblem(error) };
}

/** Returns the ending that corresponds to an error. */
export function endingOfError(error: unknown): ExecutionEnding {
  return { problem: toProblem(error).code, clientGone: false };
}

/**
 * Resolves with how the request ended: after a 202, when the execution has ended or is no longer followed; otherwise, as
 * soon as the outcome is known.
 */
export async function endingOf(outcome: Promise<Outcome>): Promise<ExecutionEnding> {
  const settled = await outcome;
  if (settled.kind === 'accepted') return settled.settled;
  if (settled.kind === 'response') return { problem: undefined, status: settled.response.status, clientGone: false };
  if (settled.kind === 'problem') return endingOfError(settled.problem);
  return { problem: undefined, clientGone: true };
}

/**
 * Returns the outcome of an ended execution for the request that started it. A problem document contains the id of that
 * request. The caller has compared the client with the unencrypted `clientId`. An encrypted response must confirm this
 * `clientId`.
 */
export function recordedOutcome(execution: WholeExecution, options: ResponseOptions): Outcome {
  const { httpMethod, requestId } = inboundOf(execution);
  try {
    const clientId = hasResponse(execution) ? verifiedClient(execution, options) : undefined;
    const response = responseOf(execution, { ...options, readOnly: isSafeMethod(httpMethod), clientId });
    return { kind: 'response', response };
  } catch (error) {
    return { kind: 'problem', problem: toProblem(error).with({ requestId }) };
  }
}

/** @throws Problem `payload-unreadable` when the response is encrypted and its request was changed or replaced */
function verifiedClient({ input, output }: WholeExecution, { codec }: Pick<ResponseOptions, 'codec'>) {
  try {
    return codec.verifiedClient({ inbound: input['inbound'], outbound: output['outbound'] });
  } catch (cause) {
    if (!(cause instanceof PayloadUnreadable)) throw cause;
    const detail = `The request of the execution cannot be verified: ${cause.message}.`;
    throw new Problem('payload-unreadable', { detail, cause });
  }
}

/**
 * Sends an outcome; sends nothing when the client has gone.
 * @throws Problem when the outcome is a problem
 */
export function sendOutcome(response: Response, executionId: string | undefined, outcome: Outcome): void {
  const { headers = {} } = outcome;
  if (outcome.kind === 'problem') throw outcome.problem.with({ headers });
  if (outcome.kind === 'client-gone') return;
  const sent = executionId === undefined ? headers : { ...headers, 'x-execution-id': executionId };
  if (outcome.kind === 'accepted') return sendDocument(response, 202, { body: outcome.document, headers: sent });
  for (const [name, value] of Object.entries(sent)) response.setHeader(name, value);
  sendResponse(response, outcome.response);
}
