// Creates the client's response from an ended execution: the back end's response, or a problem document.

import { type ServerResponse, validateHeaderValue } from 'node:http';
import { isCancelled } from '#lib/conductor/executions/cancelled.ts';
import { hasResponse, isUnreported } from '#lib/conductor/executions/reconciler-terminations.ts';
import { superseded } from '#lib/conductor/executions/superseded.ts';
import type { ExecutionStatus } from '#lib/conductor/types.ts';
import type { BackEndResponse } from '#lib/envelope/outbound.ts';
import { parseFailure } from '#lib/envelope/failure.ts';
import { type HeaderFields, type HeaderFilter, pickHeaders, sizeOfHeaders } from '#lib/envelope/headers.ts';
import type { PayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { PayloadUnreadable } from '#lib/envelope/encryption/payload-unreadable.ts';
import { Problem } from '#lib/problem/problem.ts';
import type { LinksOf } from './links.ts';
import { waitMsOf } from './terminations.ts';

/** Limits and dependencies for creating responses. */
export interface ResponseOptions {
  /** Largest response body, in bytes. */
  maxBytes: number;
  /** Selects the header fields that the client may get. */
  allows: HeaderFilter;
  codec: PayloadCodec;
  linksOf: LinksOf;
}

/** The properties of a request that its response depends on. */
export interface RequestKind {
  /** True for safe methods: the request may be repeated. */
  readOnly: boolean;
}

/**
 * Returns the back end's response from the output of an ended execution.
 * @param options `clientId`: the client that gets the response; undefined when it is not known
 * @throws Problem when the execution has no response, or when its output is not a valid response
 */
export function responseOf(
  execution: ExecutionStatus,
  {
    maxBytes,
    allows,
    codec,
    readOnly,
    linksOf,
    clientId,
  }: ResponseOptions & RequestKind & { clientId: string | undefined },
): BackEndResponse {
  if (!hasResponse(execution))
    throw withLinks(failureOf(execution, { readOnly }), execution.workflowId, { readOnly, linksOf });
  try {
    const expected = { maxBodyBytes: maxBytes, clientId };
    const response = codec.unpackOutbound(execution.output?.['outbound'], execution.workflowId, expected);
    return { ...response, headers: sendable(pickHeaders(response.headers, allows)) };
  } catch (cause) {
    if (cause instanceof Problem) throw cause;
    if (cause instanceof PayloadUnreadable) throw unreadableResponse(cause);
    const detail =
      cause instanceof RangeError
        ? `The response has more than ${maxBytes} bytes.`
        : 'The workflow output is not a response.';
    throw new Problem('back-end-bad-answer', { detail, cause });
  }
}

/**
 * Maximum size of the back end's header fields. Many clients and proxies accept at most 16 KiB of status line and
 * header fields; the router's own fields need the rest.
 */
const maxHeaderBytes = 12_288;

/**
 * Returns the fields unchanged.
 * @throws Problem `back-end-bad-answer` when a field cannot be sent, or when the fields are too large
 */
function sendable(headers: HeaderFields): HeaderFields {
  try {
    for (const [name, value] of Object.entries(headers))
      for (const line of [value].flat()) validateHeaderValue(name, line);
  } catch (cause) {
    throw new Problem('back-end-bad-answer', { detail: 'A header field of the response cannot be sent.', cause });
  }
  if (sizeOfHeaders(headers) <= maxHeaderBytes) return headers;
  throw new Problem('back-end-bad-answer', {
    detail: `The header fields of the response have more than ${maxHeaderBytes} bytes.`,
  });
}

function unreadableResponse(cause: PayloadUnreadable): Problem {
  return new Problem('payload-unreadable', {
    detail: `The response cannot be read: ${cause.message}. The request was carried out.`,
    cause,
  });
}

/** Sends the back end's response. */
export function sendResponse(response: ServerResponse, { status, headers, body }: BackEndResponse): void {
  // The Content-Length of a HEAD response is that of the response to GET (RFC 9110 section 8.6), which is unknown here.
  const bodiless = status === 204 || status === 304 || response.req.method === 'HEAD';
  response.writeHead(status, { ...headers, ...(bodiless ? {} : { 'content-length': body.length }) });
  response.end(bodiless ? undefined : body);
}

/**
 * Returns the problem of an execution without a response. Clients see the reason for a failure only if one of this
 * product's workers has reported it.
 */
export function failureOf(execution: ExecutionStatus, request: RequestKind): Problem {
  const { status, reasonForIncompletion } = execution;
  const cause = new Error(`${status}: ${reasonForIncompletion ?? 'no reason given'}`);
  const failure = parseFailure(reasonForIncompletion);
  if (failure !== null) return new Problem(failure.code, { detail: failure.text, cause });
  if (status === 'TIMED_OUT' || isUnreported(execution)) {
    return new Problem('execution-timed-out', {
      detail: 'No worker finished the task in time.',
      extensions: { mayStillComplete: !request.readOnly },
      cause,
    });
  }
  if (status === 'TERMINATED') return terminationOf(execution, request, cause);
  return new Problem('execution-failed', { cause });
}

function terminationOf(execution: ExecutionStatus, request: RequestKind, cause: Error): Problem {
  const { reasonForIncompletion } = execution;
  if (isCancelled(execution)) return new Problem('execution-cancelled', { cause });
  if (reasonForIncompletion === superseded)
    return new Problem('idempotency-key-in-use', { headers: { 'retry-after': '1' }, cause });
  const waitMs = waitMsOf(reasonForIncompletion);
  if (waitMs !== undefined) return responseDeadlineSpent(waitMs, request);
  return new Problem('execution-failed', { detail: 'The execution was terminated.', cause });
}

/**
 * Returns the problem for an execution that had not ended when the wait of its client ended.
 * @param waitMs the wait, in milliseconds
 */
export function responseDeadlineSpent(waitMs: number, { readOnly }: RequestKind): Problem {
  return new Problem('wait-budget-spent', {
    detail: readOnly
      ? `No response within ${waitMs} ms; the execution was terminated. Reading again is safe.`
      : `No response within ${waitMs} ms; the execution continues and may still complete. Do not repeat the request before you know its outcome.`,
    extensions: { mayStillComplete: !readOnly },
  });
}

/**
 * Adds links to a 504: `execution` when the response deadline has passed, and `links` only for a write, because a read
 * was terminated or can simply be repeated.
 */
export function withLinks(
  problem: Problem,
  executionId: string,
  { readOnly, linksOf }: RequestKind & { linksOf: LinksOf },
): Problem {
  if (problem.status !== 504) return problem;
  const links = linksOf(executionId);
  const execution = problem.code === 'wait-budget-spent' ? { execution: links.self } : {};
  return problem.with({ extensions: { ...execution, ...(readOnly ? {} : { links }) } });
}
