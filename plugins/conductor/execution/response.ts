// From an ended execution to the client's answer: the back end's own, or a problem that says what went wrong.

import type { ServerResponse } from 'node:http';
import { superseded } from '#lib/conductor/executions/superseded.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { Answer } from '#lib/envelope/outbound.ts';
import { parseFailure } from '#lib/envelope/failure.ts';
import { type HeaderFields, type HeaderFilter, pickHeaders, sizeOfHeaders } from '#lib/envelope/headers.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { LinksOf } from './links.ts';
import { cancelled, spentBudgetOf } from './terminations.ts';

export interface AnswerOptions {
  /** Largest answer in bytes. */
  maxBytes: number;
  /** Header fields that may reach the client. */
  allows: HeaderFilter;
  codec: PayloadCodec;
  linksOf: LinksOf;
}

/** What an answer depends on besides the execution. */
export interface Asked {
  /** True for GET and HEAD: nothing is lost when it is asked again. */
  readOnly: boolean;
}

/**
 * The back end's answer inside a completed execution.
 * @throws Problem when the execution did not complete or its output is no answer
 */
export function answerOf(
  execution: ExecutionStatus,
  { maxBytes, allows, codec, readOnly, linksOf }: AnswerOptions & Asked,
): Answer {
  if (execution.status !== 'COMPLETED')
    throw withLinks(failureOf(execution, { readOnly }), execution.workflowId, { readOnly, linksOf });
  try {
    const answer = codec.unpackOutbound(execution.output?.['outbound'], execution.workflowId, maxBytes);
    return { ...answer, headers: withinLimit(pickHeaders(answer.headers, allows)) };
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    if (cause instanceof PayloadUnreadable) throw unreadableAnswer(cause);
    const detail =
      cause instanceof RangeError ? `The answer has more than ${maxBytes} bytes.` : 'The workflow output is no answer.';
    throw new Problem('back-end-bad-answer', { detail, cause });
  }
}

/** Many clients and proxies refuse more than 16 KiB of status line and header fields; the rest is for the router's own. */
const maxHeaderBytes = 12_288;

function withinLimit(headers: HeaderFields): HeaderFields {
  if (sizeOfHeaders(headers) <= maxHeaderBytes) return headers;
  throw new Problem('back-end-bad-answer', {
    detail: `The header fields of the answer have more than ${maxHeaderBytes} bytes.`,
  });
}

function unreadableAnswer(cause: PayloadUnreadable): Problem {
  return new Problem('payload-unreadable', {
    detail: `The answer cannot be read: ${cause.message}. The request was carried out.`,
    cause,
  });
}

/** Sends the answer as the back end gave it. @throws Problem when a header field cannot be sent */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  // The length of an answer to HEAD is that of the GET, which nobody knows here (RFC 9110 section 8.6): none is given.
  const bodiless = status === 204 || status === 304 || response.req.method === 'HEAD';
  try {
    response.writeHead(status, { ...headers, ...(bodiless ? {} : { 'content-length': body.length }) });
  } catch (cause) {
    throw new Problem('back-end-bad-answer', { detail: 'A header field of the answer cannot be sent.', cause });
  }
  response.end(bodiless ? undefined : body);
}

/** The problem behind an execution that did not complete. What a worker of ours says may be shown, nothing else. */
export function failureOf(execution: ExecutionStatus, asked: Asked): Problem {
  const { status, reasonForIncompletion } = execution;
  const cause = new Error(`${status}: ${reasonForIncompletion ?? 'no reason given'}`);
  const failure = parseFailure(reasonForIncompletion);
  if (failure !== null) return new Problem(failure.code, { detail: failure.text, cause });
  if (status === 'TIMED_OUT') {
    return new Problem('execution-timed-out', {
      detail: 'No worker finished the task in time.',
      extensions: { mayStillComplete: true },
      cause,
    });
  }
  if (status === 'TERMINATED') return terminationOf(execution, asked, cause);
  return new Problem('execution-failed', { cause });
}

function terminationOf({ reasonForIncompletion }: ExecutionStatus, asked: Asked, cause: Error): Problem {
  if (reasonForIncompletion === cancelled) return new Problem('execution-cancelled', { cause });
  if (reasonForIncompletion === superseded)
    return new Problem('idempotency-key-in-use', { headers: { 'retry-after': '1' }, cause });
  const budgetMs = spentBudgetOf(reasonForIncompletion);
  if (budgetMs !== undefined) return waitBudgetSpent(budgetMs, asked);
  return new Problem('execution-failed', { detail: 'The execution was terminated.', cause });
}

/** The client's patience ended before the execution. */
export function waitBudgetSpent(budgetMs: number, { readOnly }: Asked): Problem {
  return new Problem('wait-budget-spent', {
    detail: readOnly
      ? `No answer within ${budgetMs} ms; the execution was terminated. Reading again is safe.`
      : `No answer within ${budgetMs} ms; the execution goes on and may still complete. Do not repeat it before you know its outcome.`,
    extensions: { mayStillComplete: !readOnly },
  });
}

/** Adds to a 504 where its client finds the execution. The links of a read whose outcome is unknown lead to nothing. */
export function withLinks(
  problem: Problem,
  executionId: string,
  { readOnly, linksOf }: Asked & { linksOf: LinksOf },
): Problem {
  if (problem.status !== 504) return problem;
  const links = linksOf(executionId);
  const execution = problem.code === 'wait-budget-spent' ? { execution: links.self } : {};
  return problem.with({ extensions: { ...execution, ...(readOnly ? {} : { links }) } });
}
