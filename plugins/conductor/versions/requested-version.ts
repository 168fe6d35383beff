// Reads `X-Workflow-Version` of a request: clients with the configured scope may choose their workflow version.

import type { IncomingMessage } from 'node:http';
import type { RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { bearerChallenge } from '#lib/problem/bearer-challenge.ts';
import { Problem } from '#lib/problem/problem.ts';

/** In requests: the version that the client chooses. In responses: the version that served the request. */
export const versionField = 'x-workflow-version';

/** The versions from which a client may choose. */
export interface VersionChoice {
  /** Versions of the route, including those with share 0. */
  readonly versions: readonly number[];
  /** Scope that lets a client choose its version; undefined when no client may choose. */
  readonly scope: string | undefined;
}

/**
 * Returns the version that a request chooses; undefined when it chooses none.
 * @throws Problem `workflow-version-forbidden` (403) for a client without the scope, whatever the value;
 *   `unknown-workflow-version` (400) for a value that is not a version of the route
 */
export function requestedVersion(
  { headers }: Pick<IncomingMessage, 'headers'>,
  { scopes }: Pick<RequestContext, 'scopes'>,
  { versions, scope }: VersionChoice,
): number | undefined {
  // Node joins repeated fields with a comma; the joined value is not a version of the route and is rejected below.
  const field = headers[versionField];
  if (field === undefined) return undefined;
  if (scope === undefined || scopes?.has(scope) !== true) throw forbidden(scope);
  const found = versions.find((version) => String(version) === field);
  if (found !== undefined) return found;
  throw new Problem('unknown-workflow-version', { detail: `This path has the versions ${versions.join(', ')}.` });
}

function forbidden(scope: string | undefined): Problem {
  if (scope === undefined) return new Problem('workflow-version-forbidden');
  const description = 'The scope to choose a version is missing';
  return new Problem('workflow-version-forbidden', {
    detail: `Required: ${scope}`,
    headers: bearerChallenge({ error: 'insufficient_scope', description, scope }),
  });
}
