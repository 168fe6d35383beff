// Parses responses from the engine's API, and converts error responses to EngineErrors whose messages may be logged.

import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';
import { EngineError } from './engine-error.ts';
import type { EngineResponse } from './send-call.ts';

/** Body of an error response from the engine, or from the router in front of it. */
export interface ErrorBody {
  readonly message?: unknown;
  readonly validationErrors?: readonly { readonly path?: string; readonly message?: string }[];
  /** For bulk calls, the reason for each refusal, by the name of the definition. */
  readonly bulkErrorResults?: Readonly<Record<string, string>>;
  /** Type of a problem document (RFC 9457); present when the router responded instead of the engine. */
  readonly type?: unknown;
  readonly title?: unknown;
  readonly detail?: unknown;
}

/** Maximum length of a reason in a message, in characters. */
const maxReasonLength = 300;

/**
 * Returns the reasons for an error response. For a status of 500 or more, the engine's message is omitted: it comes
 * from an exception and may quote SQL with the data of an execution.
 */
function refusalReasons({ status, body }: EngineResponse): string[] {
  const { type, title, detail, message, validationErrors = [] } = readErrorBody(body);
  const isOurs = typeof type === 'string' && type.startsWith('/problems/');
  if (!isOurs && status >= 500) return ["see the engine's log for the reason"];
  const invalid = validationErrors.map((error) => `${error.path ?? ''}: ${error.message ?? ''}`);
  return [message ?? title, detail, ...invalid].filter((part) => typeof part === 'string');
}

/**
 * Returns the response when its status is below 300.
 * @param call name of the call for the message, without any data from an execution
 * @param scrub whether to remove personal data from the reason and truncate it; default: true
 * @throws EngineError `refused` with the engine's reason
 */
export function expectSuccess(response: EngineResponse, call: string, { scrub = true } = {}): EngineResponse {
  const { status } = response;
  if (status < 300) return response;
  const reasons = refusalReasons(response).join('; ');
  const reason = scrub ? scrubText(reasons).slice(0, maxReasonLength) : reasons;
  throw new EngineError('refused', `${call} responded with ${status}${reason === '' ? '' : `: ${reason}`}`, { status });
}

/**
 * Parses a response as JSON.
 * @throws EngineError `refused`, without a cause, because the parser's error quotes the text
 */
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
