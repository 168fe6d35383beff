// Determines the back end, the class and the client under which admission control counts a request.

import { isMisCode } from '#lib/config/mis-code.ts';
import { isSafeMethod } from '#lib/http/methods.ts';
import type { AdmissionSubject } from './admission.ts';
import type { BackEnds } from './back-ends.ts';

/** The properties of a request that admission control depends on. */
export interface AdmissionTarget {
  readonly method: string;
  /** Name of the apiEndpoint. */
  readonly route: string;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Result of `callerOf`. */
  readonly client: string;
}

/** Returns the subject of a request. @param backEndOf path parameter that selects the back end of the route */
export function subjectOf(
  { method, route, params, client }: AdmissionTarget,
  backEndOf: string | undefined,
  backEnds: BackEnds,
): AdmissionSubject {
  return {
    backEnd: backEnds.get(backEndName(route, params, backEndOf)),
    requestClass: isSafeMethod(method) ? 'read' : 'write',
    client,
  };
}

/**
 * Returns the name of a route, followed by the value of the path parameter if this value has the form of an MIS code:
 * `movies`, `adaptor 002`. Other values are left out, because their number is not bounded.
 */
function backEndName(route: string, params: AdmissionTarget['params'], parameter: string | undefined): string {
  const code = parameter === undefined ? undefined : params[parameter];
  return isMisCode(code) ? `${route} ${code}` : route;
}
