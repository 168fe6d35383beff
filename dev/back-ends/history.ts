// A history of what reached the stand-ins and what they did, one JSON line an event, for suites that judge it afterwards.

import { appendFileSync } from 'node:fs';
import type { Request, RequestHandler } from 'express';

/** One line; `at` is milliseconds since the epoch, `op` the request's `X-Request-Id`, `key` its `Idempotency-Key`. */
export type BackEndEvent = { readonly at: number; readonly op: string; readonly key?: string | undefined } & (
  | { readonly actor: 'back-end'; readonly event: 'received'; readonly method: string; readonly target: string }
  /** A write changed something. */
  | { readonly actor: 'back-end'; readonly event: 'applied'; readonly target: string }
  /** A repeated write was answered from the record of its key and changed nothing. */
  | { readonly actor: 'back-end'; readonly event: 'replayed'; readonly target: string }
  /** `effective` is false for a notification that had been recorded before. */
  | { readonly actor: 'mdm'; readonly event: 'notified'; readonly executionId: string; readonly effective: boolean }
);

type Content =
  | { actor: 'back-end'; event: 'applied' | 'replayed' }
  | { actor: 'mdm'; event: 'notified'; executionId: string; effective: boolean };

/** Records every request, and what handlers add with {@link record}. A line is in the file before the answer leaves. */
export function recordHistory(file: string): RequestHandler {
  const append = (event: object) => appendFileSync(file, `${JSON.stringify(event)}\n`);
  return (request, response, next) => {
    response.locals['history'] = append;
    append({ ...commonOf(request), actor: 'back-end', event: 'received', method: request.method });
    next();
  };
}

/** Adds an event of this request; does nothing where no history is kept. */
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
