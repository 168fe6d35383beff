// Parses responses from the engine's API and converts error responses to EngineErrors. Their messages may be logged.

import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';
import { EngineError } from './engine-error.ts';
import type { EngineResponse } from './send-call.ts';

/** Body of an error response from the engine, or of the router in front of it. */
export interface ErrorBody {
  readonly message?: unknown;
  readonly validationErrors?: readonly { readonly path?: string; readonly message?: string }[];
  /** Bulk calls: the reason by name of the definition. */
  readonly bulkErrorResults?: Readonly<Record<string, string>>;
  /** Problem document (RFC 9457), when the router responded instead of the engine. */
  readonly type?: unknown;
  readonly title?: unknown;
  readonly detail?: unknown;
}

/** Longest reason in a message, in characters. */
const maxReasonLength = 300;

/**
 * Returns the reasons for an error response. The engine's message for a status of 500 or more is omitted: it is the message
 * of an exception, which may quote SQL with the data of an execution.
 */
function refusalReasons({ status, body }: EngineResponse): string[] {
  const { type, title, detail, message, validationErrors = [] } = readErrorBody(body);
  const isOurs = typeof type === 'string' && type.startsWith('/problems/');
  if (!isOurs && status >= 500) return ["see the engine's log for the reason"];
  const invalid = validationErrors.map((error) => `${error.path ?? ''}: ${error.message ?? ''}`);
  return [message ?? title, detail, ...invalid].filter((part) => typeof part === 'string');
}

/**
 * Returns the response when it is a success.
 * @param call name of the call for the message, without data of an execution
 * @param scrub default true: removes personal data from the reason and truncates it
 * @throws EngineError `refused` with the engine's reason
 */
export function expectSuccess(response: EngineResponse, call: string, { scrub = true } = {}): EngineResponse {
  const { status } = response;
  if (status < 300) return response;
  const reasons = refusalReasons(response).join('; ');
  const reason = scrub ? scrubText(reasons).slice(0, maxReasonLength) : reasons;
  throw new EngineError('refused', `${call} responded with ${status}${reason === '' ? '' : `: ${reason}`}`, { status });
}

/** Parses a response as JSON. @throws EngineError `refused`, without a cause, because the parser's error quotes the text */
export function parseResponse<T>({ body }: Pick<EngineResponse, 'body'>): T {
  try {
    return JSON.parse(body.toString('utf8')) as T;
  } catch {
    throw new EngineError('refused', 'the response is not JSON: is this address a Conductor server?');
  }
}

/** Parses the body of an error response; returns an empty object when the body is not JSON. */
export function readErrorBody(body: Buffer): ErrorBody {
  try {
    return (JSON.parse(body.toString('utf8')) as ErrorBody | null) ?? {};
  } catch {
    return {};
  }
}
