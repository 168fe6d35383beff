// Records the requests that reach the stand-ins and their effects as JSON lines, for tests that check them afterwards.

import { appendFileSync } from 'node:fs';
import type { Request, RequestHandler } from 'express';

/** One event; `at` is milliseconds since the epoch, `op` the request's `X-Request-Id`, `key` its `Idempotency-Key`. */
export type BackEndEvent = { readonly at: number; readonly op: string; readonly key?: string | undefined } & (
  | { readonly actor: 'back-end'; readonly event: 'received'; readonly method: string; readonly target: string }
  /** A write changed something. */
  | { readonly actor: 'back-end'; readonly event: 'applied'; readonly target: string }
  /** A repeated write got the stored response for its key and changed nothing. */
  | { readonly actor: 'back-end'; readonly event: 'replayed'; readonly target: string }
  /** `effective` is false for a repeated notification. */
  | { readonly actor: 'mdm'; readonly event: 'notified'; readonly executionId: string; readonly effective: boolean }
);

type Content =
  | { actor: 'back-end'; event: 'applied' | 'replayed' }
  | { actor: 'mdm'; event: 'notified'; executionId: string; effective: boolean };

/** Returns a handler that records every request. Events are written synchronously, before the response is sent. */
export function recordHistory(file: string): RequestHandler {
  const append = (event: object) => appendFileSync(file, `${JSON.stringify(event)}\n`);
  return (request, response, next) => {
    response.locals['history'] = append;
    append({ ...commonOf(request), actor: 'back-end', event: 'received', method: request.method });
    next();
  };
}

/** Records an event of this request; does nothing when no history is recorded. */
export function record(request: Request, content: Content): void {
  const append = request.res?.locals['history'] as ((event: object) => void) | undefined;
  append?.({ ...commonOf(request), ...content });
}

function commonOf(request: Request) {
  return {
    at: performance.timeOrigin + performance.now(),
    op: request.get('x-request-id') ?? '',
    key: request.get('idempotency-key'),
    target: request.originalUrl,
  };
}
