// Defines the error class for all error responses, and serializes it as application/problem+json (RFC 9457).

import { type ProblemCode, problemKinds } from './catalogue.ts';

/** Extra members of a problem document (RFC 9457 section 3.2). */
export type Extensions = Readonly<Record<string, string | number | boolean | Readonly<Record<string, string>>>>;

/** Fields of a {@link Problem} besides its code. */
export interface ProblemOptions {
  /** Explanation of this occurrence for the client, without internal addresses, tokens, stacks or personal data. */
  detail?: string;
  /** Extra members of the problem document (RFC 9457 section 3.2). */
  extensions?: Extensions;
  /** Id of the request that failed, when the response belongs to a different request. */
  requestId?: string | undefined;
  /** Response header fields: those that the status requires (`Allow`, `Retry-After`, …), and `Connection: close`. */
  headers?: Readonly<Record<string, string>>;
  /** The underlying error. It is logged and never sent to the client. */
  cause?: unknown;
}

/** An error that is sent to the client. Any other error reaches the client as `internal-error`. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string | undefined;
  readonly extensions: Extensions;
  readonly requestId: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    const kind = problemKinds[code];
    // Capturing a stack for every rejection is costly, and the stack is not used: the problem code identifies the
    // problem, and the cause has its own stack.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(options.detail ?? kind.title, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = kind.status;
    this.detail = options.detail;
    this.extensions = options.extensions ?? {};
    this.requestId = options.requestId;
    this.headers = options.headers ?? {};
  }

  /** Returns a copy with additional fields. */
  with({ extensions, headers, requestId }: Pick<ProblemOptions, 'extensions' | 'headers' | 'requestId'>): Problem {
    return new Problem(this.code, {
      ...(this.detail === undefined ? {} : { detail: this.detail }),
      cause: this.cause,
      extensions: { ...this.extensions, ...extensions },
      headers: { ...this.headers, ...headers },
      requestId: requestId ?? this.requestId,
    });
  }
}

/** Converts anything thrown into a {@link Problem}. Unexpected errors become `internal-error` without detail. */
export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal-error', { cause: error });
}

/** Ids that correlate a response with the log and with the engine. */
export interface ProblemIds {
  requestId: string;
  executionId?: string | undefined;
}

/**
 * Returns the `type` of a problem document: a relative reference (RFC 9457 section 3.1.1) to the page on this
 * router that explains the problem. It has no host, because the router does not know the host name that clients use.
 */
export function problemType(code: ProblemCode): string {
  return `/problems/${code}`;
}

/** Returns the problem document of one occurrence. */
export function problemDocument(problem: Problem, ids: ProblemIds): Record<string, unknown> {
  return {
    type: problemType(problem.code),
    title: problemKinds[problem.code].title,
    status: problem.status,
    ...(problem.detail === undefined ? {} : { detail: problem.detail }),
    ...problem.extensions,
    requestId: problem.requestId ?? ids.requestId,
    ...(ids.executionId === undefined ? {} : { executionId: ids.executionId }),
  };
}
