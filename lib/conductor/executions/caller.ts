// Who asked for an execution: what `inbound` says in clear besides the request itself. Nothing of it tells who a person is.

import { isCut } from '../shorten-strings.ts';

/** Absent fields: the execution was not started for a request, or nothing says. */
export interface Caller {
  readonly method?: string;
  /** Name of the apiEndpoint that the request came in by. */
  readonly route?: string;
  /** The OAuth client. */
  readonly clientId?: string;
  readonly requestId?: string;
  /** MIS code of the college that the path names. */
  readonly college?: string;
}

const collegePattern = /^[0-9A-Za-z]{1,8}$/;

/** Reads the input of an execution; of one that an event has started, the caller whose request led to it. */
export function callerOf(input: Readonly<Record<string, unknown>>): Caller {
  const inbound = (input['inbound'] ?? {}) as Readonly<Record<string, unknown>>;
  const params = (inbound['params'] ?? {}) as Readonly<Record<string, unknown>>;
  const college = params['mis'] ?? params['college_id'] ?? input['mis'] ?? input['misCode'];
  return {
    ...named('method', inbound['httpMethod']),
    ...named('route', inbound['route']),
    ...named('clientId', inbound['clientId']),
    ...named('requestId', inbound['requestId'] ?? input['requestId']),
    ...(typeof college === 'string' && collegePattern.test(college) ? { college } : {}),
  };
}

function named(name: keyof Caller, value: unknown): Partial<Caller> {
  return typeof value === 'string' ? { [name]: value } : {};
}

/**
 * Whether a row of the engine's index may be of this client or route: its text has the words somewhere, or had them where
 * it was cut. A client can write them too, so that only the execution itself tells.
 */
export function mayBeOf(inputText: string, { clientId, route }: Pick<Caller, 'clientId' | 'route'>): boolean {
  if (isCut(inputText)) return true;
  return [
    ['clientId', clientId],
    ['route', route],
  ].every(
    ([name, value]) =>
      value === undefined || inputText.includes(`${name}=${value}`) || inputText.includes(`"${name}":"${value}"`),
  );
}
