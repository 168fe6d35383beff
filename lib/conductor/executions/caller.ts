// Reads the caller of an execution from the unencrypted fields of its input, which contain no personal data.

import { isMisCode } from '#lib/config/mis-code.ts';
import { readJsonObject } from '#lib/json/json-object.ts';
import { isCut } from '../shorten-strings.ts';

/**
 * The caller of an execution. Fields are absent when they are unknown or the execution was not started by a request.
 */
export interface Caller {
  readonly method?: string;
  /** Name of the apiEndpoint of the request. */
  readonly route?: string;
  /** OAuth client id. */
  readonly clientId?: string;
  readonly requestId?: string;
  /** MIS code in the path. */
  readonly college?: string;
}

/**
 * Returns the caller in an execution's input. For an execution that an event has started, this is the original caller.
 */
export function callerOf(input: Readonly<Record<string, unknown>>): Caller {
  const inbound = (input['inbound'] ?? {}) as Readonly<Record<string, unknown>>;
  const params = (inbound['params'] ?? {}) as Readonly<Record<string, unknown>>;
  const college = params['mis'] ?? params['college_id'] ?? input['mis'] ?? input['misCode'];
  return {
    ...named('method', inbound['httpMethod']),
    ...named('route', inbound['route']),
    ...named('clientId', inbound['clientId']),
    ...named('requestId', inbound['requestId'] ?? input['requestId']),
    ...(isMisCode(college) ? { college } : {}),
  };
}

function named(name: keyof Caller, value: unknown): Partial<Caller> {
  return typeof value === 'string' ? { [name]: value } : {};
}

/**
 * Returns whether a row of the engine's index may belong to this client, route or request: its text contains the
 * expected values or was truncated. Clients can put the same text into their data, so only the execution itself is
 * conclusive.
 */
export function mayBeOf(inputText: string, expected: Pick<Caller, 'clientId' | 'route' | 'requestId'>): boolean {
  if (isCut(inputText)) return true;
  const { clientId, route, requestId } = expected;
  return [
    ['clientId', clientId],
    ['route', route],
    ['requestId', requestId],
  ].every(
    ([name, value]) =>
      value === undefined || inputText.includes(`${name}=${value}`) || inputText.includes(`"${name}":"${value}"`),
  );
}

/**
 * Returns whether a row of the engine's index may belong to none of these routes. Returns false only when the text of
 * the row certainly belongs to a request on one of them.
 */
export function mayBeOfOtherRoute(inputText: string, routes: readonly string[]): boolean {
  if (isCut(inputText)) return true;
  const input = readJsonObject(inputText);
  if (input !== null) return !routes.includes(callerOf(input).route ?? '');
  // The text is a Java map, in which a client's data can look like a field. The route is certain only when exactly one
  // field is named `route` and it follows another field, as the router writes it.
  if (inputText.split(/\broute=/).length !== 2) return true;
  return !routes.some((name) => [',', '}'].some((end) => inputText.includes(`, route=${name}${end}`)));
}
