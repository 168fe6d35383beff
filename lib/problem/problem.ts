// The one error class the router answers with, and its form on the wire: application/problem+json (RFC 9457).

import { type ProblemCode, problemKinds } from './catalogue.ts';

/** Extra members of a problem document (RFC 9457 section 3.2). */
export type Extensions = Readonly<Record<string, string | number | boolean | Readonly<Record<string, string>>>>;

/** What a {@link Problem} may carry besides its code. */
export interface ProblemOptions {
  /** What happened this time, for the caller: never an internal address, token, stack or personal value. */
  detail?: string;
  /** Extra members of the problem document (RFC 9457 section 3.2). */
  extensions?: Extensions;
  /** The request that this happened to, when it is not the one that is answered. */
  requestId?: string | undefined;
  /** Response header fields the status calls for: `Allow`, `Retry-After`, `WWW-Authenticate`. */
  headers?: Readonly<Record<string, string>>;
  /** The underlying error: goes to the log, never to the caller. */
  cause?: unknown;
}

/** An error with a public face. Anything else that is thrown reaches the caller as `internal-error`. */
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
    // A stack is taken for each refusal and read by nobody: its code says what happened, its cause has a stack of its own.
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

  /** The same problem with more to it. */
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

/** Turns whatever was thrown into a {@link Problem}; what nobody foresaw becomes `internal-error` without detail. */
export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem('internal-error', { cause: error });
}

/** The ids that tie an answer to the log and to the engine. */
export interface ProblemIds {
  requestId: string;
  executionId?: string | undefined;
}

/**
 * The `type` of a problem document: a path of this router that answers with what happened and what to do. It is relative
 * to the address the client used (RFC 9457 section 3.1.1), because the router does not know by which name it is reached.
 */
export function problemType(code: ProblemCode): string {
  return `/problems/${code}`;
}

/** The problem document of one occurrence. */
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
