// What admission control counts a request as: its back end, its class and its client.

import type { AdmissionSubject } from './admission.ts';
import type { BackEnds } from './back-ends.ts';

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Path parameters that may become part of a back end's name. */
const codePattern = /^[0-9A-Za-z]{1,8}$/;

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

/** Returns the subject of a request. @param backEndOf path parameter that tells the back ends of the route apart */
export function subjectOf(
  { method, route, params, client }: AdmissionTarget,
  backEndOf: string | undefined,
  backEnds: BackEnds,
): AdmissionSubject {
  return {
    backEnd: backEnds.get(backEndName(route, params, backEndOf)),
    requestClass: readMethods.has(method) ? 'read' : 'write',
    client,
  };
}

/** Route name, with the path parameter when it has the form of a code: `movies`, `adaptor 002`. */
function backEndName(route: string, params: AdmissionTarget['params'], parameter: string | undefined): string {
  const code = parameter === undefined ? undefined : params[parameter];
  return code !== undefined && codePattern.test(code) ? `${route} ${code}` : route;
}
