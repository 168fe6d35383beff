// Defines the header components of the OpenAPI document, which many responses share.

import type { Header, Reference } from './openapi.ts';

const text = { type: 'string' } as const;
/**
 * Pattern of `RateLimit` and `RateLimit-Policy`: each item is the name of a limit in quotation marks, followed by its
 * parameters.
 */
const limitsPattern = (parameters: string) => `^"[a-z]+"${parameters}(?:, "[a-z]+"${parameters})*$`;
const rateLimit = {
  description:
    'Remaining quota of the limits of this path: `r` requests in the `t` seconds until the window ends (draft-ietf-httpapi-ratelimit-headers).',
  schema: { type: 'string', pattern: limitsPattern(';r=[0-9]+;t=[0-9]+') },
};
const rateLimitPolicy = {
  description:
    'The limits of this path: `q` requests in a window of `w` seconds. `"client"` is the limit of each client, `"route"` the limit of all clients together.',
  schema: { type: 'string', pattern: limitsPattern(';q=[0-9]+;w=[0-9]+') },
};
const servedBy = 'The version of the workflow that served the request.';
const version = { type: 'string', pattern: '^[1-9][0-9]*$' } as const;
const executionId = 'The execution of this request: include it when you report a problem.';

/** `components.headers`. Header fields may be absent when their names here end in `Optional`. */
export const commonHeaders = {
  XRequestId: {
    description:
      'Identifies the request in the log. The `X-Request-Id` of the request when it has 8 to 64 letters, digits, `.`, `_` or `-`, else a new one.',
    required: true,
    schema: { type: 'string', pattern: '^[0-9A-Za-z._-]{8,64}$' },
  },
  XExecutionId: { description: executionId, required: true, schema: text },
  XExecutionIdOptional: { description: `${executionId} Absent when nothing was started.`, schema: text },
  XWorkflowVersion: { description: servedBy, required: true, schema: version },
  XWorkflowVersionOptional: { description: `${servedBy} Absent where there is only one.`, schema: version },
  RetryAfter: {
    description: 'Seconds after which the same request may be sent again (RFC 9110 section 10.2.3).',
    required: true,
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  WWWAuthenticate: {
    description: 'The scheme to use, and what was wrong with the credentials (RFC 6750 section 3).',
    required: true,
    schema: text,
  },
  WWWAuthenticateOptional: { description: 'The challenge, when the credentials were rejected.', schema: text },
  RetryAfterOptional: { description: 'Seconds after which to try again, if known.', schema: text },
  Allow: { description: 'The methods of this path.', required: true, schema: text },
  CacheControl: { description: 'How long the response may be cached.', required: true, schema: text },
  Pragma: { description: '`no-cache` (RFC 6749 section 5.1).', required: true, schema: { const: 'no-cache' } },
  ETag: {
    description: 'Send it as `If-None-Match` to get 304 when nothing has changed.',
    required: true,
    schema: text,
  },
  ContentEncoding: {
    description:
      '`br` or `gzip` when the request accepts it and the response is large enough, or the encoding of the back end.',
    schema: text,
  },
  Vary: { description: 'Request header fields that the response depends on.', schema: text },
  Location: {
    description: 'Path on the router for the status and the result of the execution.',
    required: true,
    schema: text,
  },
  LocationOptional: {
    description: "Path of the execution, or the `Location` of the back end's response.",
    schema: text,
  },
  PreferenceApplied: {
    description: 'The applied preferences of `Prefer`, with the seconds waited (RFC 7240 section 3).',
    required: true,
    schema: text,
  },
  PreferenceAppliedOptional: { description: 'The applied preferences of `Prefer` (RFC 7240 section 3).', schema: text },
  IdempotencyReplayedOptional: {
    description: '`true`: this is the response to an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  RateLimit: { ...rateLimit, required: true },
  RateLimitOptional: rateLimit,
  RateLimitPolicy: { ...rateLimitPolicy, required: true },
  RateLimitPolicyOptional: rateLimitPolicy,
  ServerTimingOptional: {
    description: 'Durations of the phases of the request in milliseconds, for clients with the configured scope.',
    schema: text,
  },
} as const satisfies Record<string, Header>;

/** Returns a reference to a header component. */
export function headerRef(name: keyof typeof commonHeaders): Reference {
  return { $ref: `#/components/headers/${name}` };
}
