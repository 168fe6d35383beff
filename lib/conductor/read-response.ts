// Reads responses of the engine's API: their JSON, or why the engine refused. Messages here reach logs and terminals.

import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';
import { EngineError } from './engine-error.ts';
import type { EngineResponse } from './send-call.ts';

/** What the engine, or the router in its place, says of a refusal. */
export interface ErrorBody {
  readonly message?: unknown;
  readonly validationErrors?: readonly { readonly path?: string; readonly message?: string }[];
  /** Of a bulk call: the reason by name. */
  readonly bulkErrorResults?: Readonly<Record<string, string>>;
  /** Of a problem document (RFC 9457), when the router answered instead of the engine. */
  readonly type?: unknown;
  readonly title?: unknown;
  readonly detail?: unknown;
}

/** The longest reason in a message. */
const maxReasonLength = 300;

/**
 * Why a call was refused, part by part. With a status of 500 or more the engine's own words are those of an exception,
 * which quotes SQL with the values of an execution: they stay in the engine's log.
 */
export function refusalReasons({ status, body }: EngineResponse): string[] {
  const { type, title, detail, message, validationErrors = [] } = readErrorBody(body);
  const isOurs = typeof type === 'string' && type.startsWith('/problems/');
  if (!isOurs && status >= 500) return ["the engine's log says why"];
  const invalid = validationErrors.map((error) => `${error.path ?? ''}: ${error.message ?? ''}`);
  return [message ?? title, detail, ...invalid].filter((part) => typeof part === 'string');
}

/**
 * The response when it is a success.
 * @param call names the call in the message, without values of an execution
 * @throws EngineError `refused` with a reason in which no personal value is left
 */
export function expectSuccess(response: EngineResponse, call: string): EngineResponse {
  const { status } = response;
  if (status < 300) return response;
  const reason = scrubText(refusalReasons(response).join('; ')).slice(0, maxReasonLength);
  const message = `${call}: engine answered ${status}${reason === '' ? '' : ` (${reason})`}`;
  throw new EngineError('refused', message, { status });
}

/** The JSON of a response. @throws EngineError `refused`; it has no cause, because the parser's error quotes the text */
export function parseResponse<T>({ body }: Pick<EngineResponse, 'body'>): T {
  try {
    return JSON.parse(body.toString('utf8')) as T;
  } catch {
    throw new EngineError('refused', 'the answer is not JSON: is this address a Conductor server?');
  }
}

/** The JSON of a refusal; empty when it is none. */
export function readErrorBody(body: Buffer): ErrorBody {
  try {
    return (JSON.parse(body.toString('utf8')) as ErrorBody | null) ?? {};
  } catch {
    return {};
  }
}
