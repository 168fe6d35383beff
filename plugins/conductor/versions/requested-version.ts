// `X-Workflow-Version` of a request: some clients may choose the version that serves them.

import type { IncomingMessage } from 'node:http';
import type { RequestContext } from '../../../gateway/plugin-api/plugin-api.ts';
import { bearerChallenge } from '#lib/problem/bearer-challenge.ts';
import { Problem } from '#lib/problem/problem.ts';

/** Of requests: the version that is wanted. Of answers: the one that served them. */
export const versionField = 'x-workflow-version';

export interface VersionChoice {
  /** Those of the route, also with share 0. */
  readonly versions: readonly number[];
  /** Scope whose clients may choose; undefined = nobody. */
  readonly scope: string | undefined;
}

/**
 * The version that a request asks for; undefined when it asks for none.
 * @throws Problem `workflow-version-forbidden` (403) for a client without the scope, whatever it asks for;
 *   `unknown-workflow-version` (400) for what is no version of the route
 */
export function requestedVersion(
  { headers }: Pick<IncomingMessage, 'headers'>,
  { scopes }: Pick<RequestContext, 'scopes'>,
  { versions, scope }: VersionChoice,
): number | undefined {
  // Of several fields Node makes a list, which is no version either.
  const wanted = headers[versionField];
  if (wanted === undefined) return undefined;
  if (scope === undefined || scopes?.has(scope) !== true) throw forbidden(scope);
  const found = versions.find((version) => String(version) === wanted);
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
