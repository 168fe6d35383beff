// OpenAPI description of the choice of a workflow version.

import type { Description } from '#lib/openapi/description.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import type { PinnedVersions } from '#lib/conductor/definitions/pinned-versions.ts';

/** The parts of the description that the choice of a version adds to each operation of a route. */
export type DescribedVersions = Required<Pick<Description, 'problems' | 'parameters' | 'headers' | 'problemHeaders'>>;

const nothing: DescribedVersions = { problems: [], parameters: [], headers: {}, problemHeaders: {} };

/**
 * Describes the choice of a version. The description is empty for a route with one version.
 * @param scope scope that lets a client choose its version; undefined when no client may choose
 */
export function describeVersions({ shares, isSplit }: PinnedVersions, scope: string | undefined): DescribedVersions {
  if (!isSplit) return nothing;
  const versions = [...shares.keys()];
  return {
    problems: ['workflow-version-forbidden', 'unknown-workflow-version'],
    parameters: [
      {
        name: 'X-Workflow-Version',
        in: 'header',
        description: `The version of the workflow that is to serve the request: ${versions.join(', ')}. ${
          scope === undefined
            ? 'No client may choose a version: omit this header.'
            : `Only with the scope \`${scope}\`.`
        } Without the header, a client gets the same version each time.`,
        schema: { type: 'string', enum: versions.map(String) },
      },
    ],
    headers: { 'X-Workflow-Version': headerRef('XWorkflowVersion') },
    problemHeaders: { 'X-Workflow-Version': headerRef('XWorkflowVersionOptional') },
  };
}
