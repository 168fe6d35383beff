// Explains the problem types for the pages below `/problems`, the OpenAPI document and docs/reference/errors.md.

import type { ProblemCode } from './catalogue.ts';

/** Explanation of a problem type. */
export interface ProblemExplanation {
  /** What happened, in one or two sentences for a reader who is new to this problem. */
  readonly happened: string;
  /** What the client should do; the last column of the table of codes. Names are in back quotes. */
  readonly advice: string;
}

const nothingStarted = 'Nothing was started, so the same request may be sent again.';

/** Explanations by problem code. */
export const problemExplanations = {
  'malformed-request': {
    happened: 'The request or its credentials are malformed or ambiguous. Nothing was started.',
    advice: 'read `detail` and correct the request',
  },
  'idempotency-key-missing': {
    happened:
      'The operator requires an `Idempotency-Key` with every write on this path, and the request had none. Nothing was started.',
    advice: 'send a new key with each write, and the same key when you repeat it',
  },
  'malformed-idempotency-key': {
    happened:
      'The `Idempotency-Key` of the request is empty, too long, given twice or not visible ASCII. Nothing was started.',
    advice: 'read `detail`; use a UUID, for example',
  },
  'unknown-workflow-version': {
    happened: 'The `X-Workflow-Version` of the request is not a version of this path. Nothing was started.',
    advice: 'choose one that `detail` names, or omit `X-Workflow-Version`',
  },
  unauthorized: {
    happened: 'The path requires an access token, and the request had none.',
    advice: 'get a token and send it as `Authorization: Bearer …`',
  },
  'invalid-client': {
    happened: 'The identity provider does not know this client, or the client secret is wrong.',
    advice: 'check `keyId` and `keySecret` in the request body',
  },
  'invalid-token': {
    happened: 'The access token has expired, or is not valid for this router.',
    advice: 'get a new token, then retry once',
  },
  'insufficient-scope': {
    happened: 'The access token is valid, but it lacks a scope that this request needs.',
    advice: "ask the identity provider's owner for the scope named in `WWW-Authenticate`",
  },
  forbidden: {
    happened: 'The operator has restricted this client to other colleges, task types or task domains.',
    advice: 'use a client that is allowed to do this',
  },
  'workflow-version-forbidden': {
    happened: 'This client may not choose the workflow version on this path. Nothing was started.',
    advice:
      'omit `X-Workflow-Version`, or ask for the scope that `detail` names; without a `detail`, no client may choose',
  },
  'not-found': {
    happened: 'The router serves nothing at this path.',
    advice: 'check the path',
  },
  'unknown-college': {
    happened: 'No college adaptor is configured for the MIS code in the path.',
    advice: 'check the MIS code',
  },
  'method-not-allowed': {
    happened: 'The path exists, but not for this method.',
    advice: 'use a method named in `Allow`',
  },
  'idempotency-key-in-use': {
    happened:
      'An earlier request with the same key has no response yet. It continues, and nothing is started a second time.',
    advice: 'follow `links`, or repeat the request after `Retry-After`',
  },
  'idempotency-key-reused': {
    happened: 'The key was used before with another method, path, query or body. Nothing was started for this request.',
    advice: 'use a new key for each request',
  },
  'request-timeout': {
    happened: 'The request took too long to arrive. Nothing was started.',
    advice: 'send the request faster, on a new connection',
  },
  'body-too-large': {
    happened: 'The body of the request is larger than the router accepts. Nothing was started.',
    advice: 'send less; `detail` names the limit',
  },
  'expectation-failed': {
    happened: 'The router does not support the value of `Expect`.',
    advice: 'send no `Expect` other than `100-continue`',
  },
  'too-many-requests': {
    happened: `The client, its address or its connection has exceeded a limit. ${nothingStarted}`,
    advice: 'wait `Retry-After` seconds',
  },
  'header-fields-too-large': {
    happened: 'The request line or the header fields are larger, or more numerous, than the router accepts.',
    advice: 'send less; `detail` names the limit',
  },
  'execution-unknown': {
    happened:
      'This client has no execution with this id: it never existed, it belongs to another client, or it has been removed.',
    advice: 'check the id; only the client that started an execution sees it',
  },
  'answer-pending': {
    happened: 'The execution is still running, so it has no response yet.',
    advice: 'repeat the request after `Retry-After`, or with `Prefer: wait`',
  },
  'execution-under-way': {
    happened:
      'A worker has already received a task of this execution, and the back end may have received the request. The execution continues.',
    advice: 'the execution can no longer be cancelled; follow `links`',
  },
  'execution-ended': {
    happened: 'The execution ended before it could be cancelled.',
    advice: 'the execution can no longer be cancelled; fetch the response at `links`',
  },
  'execution-cancelled': {
    happened: 'The client cancelled the execution before a worker received it.',
    advice: 'do nothing, or send the request again if it is still needed',
  },
  'execution-failed': {
    happened: 'The execution was started, but it ended without a response from the back end.',
    advice: 'report `executionId`; a write may have been applied',
  },
  'payload-unreadable': {
    happened: 'Requests and responses are encrypted inside the engine, and this one could not be decrypted.',
    advice: 'read `detail` and report `executionId`; the router and the workers probably use different keys',
  },
  'back-end-unreachable': {
    happened:
      'The worker could not connect to the back end, or had too little time left to send the request. The back end never received the request.',
    advice: 'try later; nothing was changed',
  },
  'back-end-bad-answer': {
    happened:
      'The connection was closed before a complete response arrived, or the response was malformed, too large or not HTTP.',
    advice: 'read `detail`; a write may have been applied',
  },
  'back-end-timeout': {
    happened: 'The back end did not respond before the deadline of the worker. It may have received the request.',
    advice: 'a read may be repeated; before you repeat a write, check its outcome',
  },
  'execution-timed-out': {
    happened: 'No worker completed the task in time. It is not known whether the back end processed the request.',
    advice: 'a read may be repeated; before you repeat a write, check its outcome',
  },
  'wait-budget-spent': {
    happened: 'There was no response before the deadline of the router. A write continues and may still complete.',
    advice: 'a read may be repeated; follow `links` before you repeat a write',
  },
  'outcome-unknown': {
    happened: 'The engine did not confirm the start: the execution may or may not have been started.',
    advice: 'a read may be repeated; before you repeat a write, check its outcome',
  },
  'engine-unavailable': {
    happened:
      'The workflow engine did not respond, or it failed. No write was started, and a read may safely be repeated, so the same request may be sent again.',
    advice: 'try again after `Retry-After`',
  },
  'idempotency-unavailable': {
    happened: `The router cannot determine whether another router is processing a request with this key. ${nothingStarted}`,
    advice: 'try again after `Retry-After` with the same key',
  },
  overloaded: {
    happened: `The router has more requests than it can complete in time. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'back-end-unavailable': {
    happened: `The back end has failed repeatedly, so the router sends it no requests for a moment. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'definition-missing': {
    happened: `The engine does not have the workflow of this route. ${nothingStarted}`,
    advice: 'try again after `Retry-After`; tell the operator to run `register`',
  },
  'identity-provider-unavailable': {
    happened: 'The identity provider did not respond, or its response was not valid.',
    advice: 'try again after `Retry-After`',
  },
  'limits-unavailable': {
    happened: `The shared store of rate and concurrency limits did not respond. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'too-many-connections': {
    happened: `There are more connections than the router accepts. ${nothingStarted}`,
    advice: 'try again after `Retry-After`; keep fewer connections open',
  },
  'shutting-down': {
    happened: `This instance of the router is shutting down. ${nothingStarted}`,
    advice: 'try again; another instance will respond',
  },
  'internal-error': {
    happened: 'An unexpected error occurred. The operator can find it in the log by the request id.',
    advice: 'report `requestId`',
  },
} as const satisfies Record<ProblemCode, ProblemExplanation>;
