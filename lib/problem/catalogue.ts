// The catalogue of problem types (RFC 9457): code, status and title. Codes are never reused.

/** Status and title of a problem type. */
export interface ProblemKind {
  /** HTTP status code of the response. */
  readonly status: number;
  /** Short, stable summary; the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
}

/**
 * Problem types by code. 503 means that a retry is safe: either nothing was started, or only a read was. 504 means that
 * the outcome is unknown, unless the problem type says otherwise. `docs/reference/errors.md` is generated from this
 * catalogue.
 */
export const problemKinds = {
  // The request itself
  'malformed-request': { status: 400, title: 'The request is malformed' },
  'idempotency-key-missing': { status: 400, title: 'This path needs an Idempotency-Key' },
  'malformed-idempotency-key': { status: 400, title: 'The Idempotency-Key is malformed' },
  'unknown-workflow-version': { status: 400, title: 'This path has no such workflow version' },
  unauthorized: { status: 401, title: 'No access token was presented' },
  'invalid-client': { status: 401, title: 'The client credentials are not valid' },
  'invalid-token': { status: 401, title: 'The access token is not valid' },
  'insufficient-scope': { status: 403, title: 'The access token lacks a required scope' },
  forbidden: { status: 403, title: 'The client is not allowed to do this' },
  'workflow-version-forbidden': { status: 403, title: 'The client may not choose a workflow version' },
  'not-found': { status: 404, title: 'Nothing is routed at this path' },
  'unknown-college': { status: 404, title: 'No college adaptor serves this MIS code' },
  'method-not-allowed': { status: 405, title: 'The path does not support this method' },
  'idempotency-key-in-use': { status: 409, title: 'The first request with this Idempotency-Key is still in progress' },
  'idempotency-key-reused': { status: 422, title: 'The Idempotency-Key belongs to another request' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'body-too-large': { status: 413, title: 'The request body is too large' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'header-fields-too-large': { status: 431, title: 'The request line or the header fields are too large' },
  // The execution of the request
  'execution-unknown': { status: 404, title: 'There is no such execution' },
  'answer-pending': { status: 404, title: 'The execution has no response yet' },
  'execution-under-way': { status: 409, title: 'The execution has reached a worker' },
  'execution-ended': { status: 409, title: 'The execution has ended' },
  'execution-cancelled': { status: 409, title: 'The execution was cancelled; nothing reached the back end' },
  'execution-failed': { status: 502, title: 'The workflow or its worker failed' },
  'payload-unreadable': { status: 502, title: 'The encrypted request or response cannot be decrypted' },
  'back-end-unreachable': { status: 502, title: 'The back end could not be reached' },
  'back-end-bad-answer': { status: 502, title: 'The back end sent a response that cannot be forwarded' },
  'back-end-timeout': { status: 504, title: 'The back end did not respond in time' },
  'execution-timed-out': { status: 504, title: 'The workflow timed out' },
  'wait-budget-spent': { status: 504, title: 'The workflow did not finish before the response deadline' },
  'outcome-unknown': { status: 504, title: 'It is unknown whether the workflow was started' },
  // The router and the systems on which it depends
  'engine-unavailable': { status: 503, title: 'The workflow engine is unavailable; no write was started' },
  'idempotency-unavailable': { status: 503, title: 'Idempotency keys cannot be checked; nothing was started' },
  overloaded: { status: 503, title: 'The router is overloaded; nothing was started' },
  'back-end-unavailable': { status: 503, title: 'The back end does not respond; nothing was started' },
  'definition-missing': { status: 503, title: 'The workflow definition is not registered; nothing was started' },
  'identity-provider-unavailable': { status: 503, title: 'The identity provider is unavailable' },
  'limits-unavailable': { status: 503, title: 'The requests of this client cannot be counted; nothing was started' },
  'too-many-connections': { status: 503, title: 'There are too many connections; nothing was started' },
  'shutting-down': { status: 503, title: 'The router is shutting down; nothing was started' },
  'internal-error': { status: 500, title: 'The router failed' },
} as const satisfies Record<string, ProblemKind>;

/** One of the codes of {@link problemKinds}. */
export type ProblemCode = keyof typeof problemKinds;
