// JSON responses from the stand-ins. Errors have the format of a college adaptor: `{ code, message }`.

import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { errorFields, type Logger } from '#lib/telemetry/logging/log.ts';

/** A response; it has no content when `body` is absent. */
export interface JsonResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An error that is sent to the client. */
export class BackEndError extends Error {
  override readonly name = 'BackEndError';
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** @param kind `<status> <code>`, such as `404 unknown-person` */
  constructor(kind: `${number} ${string}`, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    const [status, code] = kind.split(' ');
    this.status = Number(status);
    this.code = code ?? '';
    this.headers = headers;
  }
}

/**
 * Returns a request handler that sends the response that `handle` returns. `handle` may throw a {@link BackEndError}.
 */
export function respondWith(handle: (request: Request) => JsonResponse | Promise<JsonResponse>): RequestHandler {
  return (request, response, next) => {
    Promise.resolve()
      .then(() => handle(request))
      .then((result) => sendResponse(response, result))
      .catch(next);
  };
}

/** Returns a handler for unsupported methods: 405 with `Allow` (RFC 9110 section 15.5.6). */
export function allowOnly(methods: string): RequestHandler {
  return (request) => {
    throw new BackEndError('405 method-not-allowed', `${request.method} is not allowed on this path`, {
      allow: methods,
    });
  };
}

/** Handles unknown paths with 404. */
export const refuseUnknownPath: RequestHandler = () => {
  throw new BackEndError('404 unknown-path', 'nothing is served at this path');
};

/** Returns an error handler that sends errors as JSON and logs unexpected ones. */
export function respondWithErrors(log: Logger): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (error: unknown, request, response, _next) => {
    // The client has disconnected, so no response can be sent.
    if (request.socket.destroyed) return;
    if (response.headersSent) response.destroy();
    else sendResponse(response, toErrorResponse(toBackEndError(error, log)));
  };
}

/** Returns the response to send for an error. */
export function toErrorResponse({ status, code, message, headers }: BackEndError): JsonResponse {
  return { status, headers, body: { code, message } };
}

function toBackEndError(error: unknown, log: Logger): BackEndError {
  if (error instanceof BackEndError) return error;
  // Express throws this error when it cannot decode a path parameter.
  if (error instanceof URIError) return new BackEndError('400 malformed-path', 'the path is not percent-encoded UTF-8');
  log.error({ ...errorFields(error), stack: error instanceof Error ? error.stack : undefined }, 'unexpected error');
  return new BackEndError('500 internal-error', 'the back end failed');
}

function sendResponse(response: Response, { status, headers = {}, body }: JsonResponse): void {
  if (body === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
  response.end(bytes);
}
