// What each problem means in a sentence, and what the client should do: for the pages that problem types lead to, for the
// OpenAPI document and, word for word, for docs/errors.md.

import type { ProblemCode } from './catalogue.ts';

export interface ProblemExplanation {
  /** What happened, in a sentence or two for somebody who has never seen this problem. */
  readonly happened: string;
  /** What the client should do; the last column of docs/errors.md. `Back quotes` stand around names. */
  readonly advice: string;
}

const nothingStarted = 'Nothing was started, so the same request may be sent again.';

/** One for every problem; docs/errors.md and the pages below `/problems` say the same. */
export const problemExplanations = {
  'malformed-request': {
    happened: 'The request, or its credentials, could be read in more than one way or not at all. Nothing was started.',
    advice: 'read `detail`, mend the request',
  },
  'idempotency-key-missing': {
    happened:
      'The operator wants a key with every write on this path, and the request carried none. Nothing was started.',
    advice: 'send one of your own with every write',
  },
  'malformed-idempotency-key': {
    happened:
      'The request has an `Idempotency-Key` that is empty, too long, given twice or no visible ASCII. Nothing was started.',
    advice: 'read `detail`; a UUID will do',
  },
  'unknown-workflow-version': {
    happened: 'The request has an `X-Workflow-Version` that is no version of this path. Nothing was started.',
    advice: 'choose one that `detail` names, or leave `X-Workflow-Version` out',
  },
  unauthorized: {
    happened: 'The path needs an access token, and the request carried none.',
    advice: 'get a token, send `Authorization: Bearer …`',
  },
  'invalid-client': {
    happened: 'The identity provider does not know this client, or its secret is another one.',
    advice: 'check `keyId` and `keySecret` (token path of the Conductor SDKs only)',
  },
  'invalid-token': {
    happened: 'The access token has expired, or it was not issued for this router.',
    advice: 'get a new token, try once more',
  },
  'insufficient-scope': {
    happened: 'The access token is valid, but it was issued without a scope that this request needs.',
    advice: "ask the identity provider's owner for the scope named in `WWW-Authenticate`",
  },
  forbidden: {
    happened: 'The operator has limited this client to other colleges, task types or task domains.',
    advice: 'use a client that may; this one is limited to other colleges or pools',
  },
  'workflow-version-forbidden': {
    happened:
      'The request has an `X-Workflow-Version`, and only clients that the operator lets choose may send one to this path. Nothing was started.',
    advice: 'leave `X-Workflow-Version` out, or ask for the scope that `detail` names',
  },
  'not-found': {
    happened: 'The router serves nothing at this path.',
    advice: 'check the path',
  },
  'unknown-college': {
    happened: 'The path names a MIS code, and no college adaptor is configured for it.',
    advice: 'check the MIS code',
  },
  'method-not-allowed': {
    happened: 'The path exists, but not for this method.',
    advice: 'use a method named in `Allow`',
  },
  'idempotency-key-in-use': {
    happened:
      'An earlier request came with the same key, and it has no answer yet. It goes on, and nothing is started a second time.',
    advice: 'follow `links`, or repeat the request after `Retry-After`',
  },
  'idempotency-key-reused': {
    happened:
      'The key came before with another method, path, query or body. The first request keeps it; nothing was started for this one.',
    advice: 'use a new key for each request',
  },
  'request-timeout': {
    happened: 'The request took too long to arrive. Nothing was started.',
    advice: 'send it faster; the connection is closed',
  },
  'body-too-large': {
    happened: 'The body of the request is larger than the router accepts. Nothing was started.',
    advice: 'send less; `detail` names the limit',
  },
  'expectation-failed': {
    happened: 'The request has an `Expect` that the router does not know.',
    advice: 'expect nothing but `100-continue`',
  },
  'too-many-requests': {
    happened: `The client, or its connection, has sent more than its share. ${nothingStarted}`,
    advice: 'wait `Retry-After` seconds',
  },
  'header-fields-too-large': {
    happened: 'The request line or the header fields are larger, or more, than the router accepts.',
    advice: 'send less; `detail` names the limit',
  },
  'execution-unknown': {
    happened:
      "The engine has no execution with this id that this client started: there never was one, it is another client's, or it has been removed.",
    advice: 'check the id; only the client that started an execution sees it',
  },
  'answer-pending': {
    happened: 'The execution is still running, so it has no answer to fetch.',
    advice: 'ask again after `Retry-After`, or with `Prefer: wait`',
  },
  'execution-under-way': {
    happened:
      'A worker has already been given a task of this execution, and the back end may have seen the request. It goes on.',
    advice: 'it cannot be cancelled any more; follow `links`',
  },
  'execution-ended': {
    happened: 'The execution was over before it could be cancelled.',
    advice: 'it cannot be cancelled any more; fetch the answer at `links`',
  },
  'execution-cancelled': {
    happened: 'Its client cancelled the execution before a worker took it.',
    advice: 'nothing; start it again if you want it after all',
  },
  'execution-failed': {
    happened: 'The execution started, but it ended without an answer of the back end.',
    advice: 'report `executionId`; a write may have been applied',
  },
  'payload-unreadable': {
    happened: 'Requests and answers are encrypted inside the engine, and this one could not be decrypted.',
    advice: 'read `detail`; report `executionId`: the keys of router and workers differ',
  },
  'back-end-unreachable': {
    happened: 'The worker could not connect to the back end, so the back end never saw the request.',
    advice: 'try later; nothing was changed',
  },
  'back-end-bad-answer': {
    happened: 'The back end answered, but its answer was broken, too large or not HTTP.',
    advice: 'read `detail`; a write may have been applied',
  },
  'back-end-timeout': {
    happened: 'The back end got the request and did not answer within the time that a worker waits.',
    advice: 'repeat a read; check a write first',
  },
  'execution-timed-out': {
    happened: 'No worker finished the task in time. Whether the back end did something is not known.',
    advice: 'repeat a read; check a write first',
  },
  'wait-budget-spent': {
    happened: 'The router waits only so long for an answer, and that time was over. A write goes on meanwhile.',
    advice: 'repeat a read; follow `links` before you repeat a write',
  },
  'outcome-unknown': {
    happened: 'The connection to the engine broke at a moment when the execution may have been started.',
    advice: 'repeat a read; check a write first',
  },
  'engine-unavailable': {
    happened: `The workflow engine did not answer. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'idempotency-unavailable': {
    happened: `The router cannot find out whether another router has a request with this key. ${nothingStarted}`,
    advice: 'try again after `Retry-After` with the same key',
  },
  overloaded: {
    happened: `The router has more to do than it could finish in time. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'back-end-unavailable': {
    happened: `The back end has failed so often lately that it is left alone for a moment. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'definition-missing': {
    happened: `The engine does not have the workflow of this route. ${nothingStarted}`,
    advice: 'try again after `Retry-After`; tell the operator to run `register`',
  },
  'identity-provider-unavailable': {
    happened: 'The identity provider did not answer, or what it answered makes no sense.',
    advice: 'try again after `Retry-After`',
  },
  'limits-unavailable': {
    happened: `The store that all routers count their clients in did not answer. ${nothingStarted}`,
    advice: 'try again after `Retry-After`',
  },
  'too-many-connections': {
    happened: `There are more connections than the router keeps. ${nothingStarted}`,
    advice: 'try again after `Retry-After`; keep fewer connections open',
  },
  'shutting-down': {
    happened: `This instance of the router is about to stop. ${nothingStarted}`,
    advice: 'try again; another instance will answer',
  },
  'internal-error': {
    happened: 'Something went wrong that nobody foresaw. The operator finds it in the log by the request id.',
    advice: 'report `requestId`',
  },
} as const satisfies Record<ProblemCode, ProblemExplanation>;
