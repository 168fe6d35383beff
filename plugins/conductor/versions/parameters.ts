// Parameters of the policy `workflow` that concern versions.

import { type Static, Type } from '#lib/json/json-schema.ts';
import {
  type PinnedVersions,
  type PinParameters,
  readPinnedVersions,
} from '#lib/conductor/definitions/pinned-versions.ts';
import type { GuardOptions } from './version-guard.ts';

const guard = Type.Object(
  {
    failurePercent: Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'largest allowed share of failed requests of a version (percent)',
    }),
    windowMs: Type.Optional(
      Type.Integer({ minimum: 1, default: 60_000, description: 'window in which requests count (milliseconds)' }),
    ),
    minRequests: Type.Optional(
      Type.Integer({
        minimum: 1,
        default: 20,
        description:
          'minimum number of requests of a version, and of all others together, before the version is judged',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'removes a version that fails more often than allowed and more often than the other versions',
  },
);

/** Schema of the parameter `versionGuard`. */
export const versionGuard = Type.Optional(guard);

/**
 * Returns the pinned versions of the parameters.
 * @throws Error with one line for each mistake and its correction; the router does not start
 */
export function pinnedVersionsOf(parameters: PinParameters): PinnedVersions {
  const { pinned, problems } = readPinnedVersions(parameters);
  if (pinned === undefined) throw new Error(problems.join('\n'));
  return pinned;
}

/** Returns the guard's options with their defaults (60 s, 20 requests); undefined without a guard. */
export function guardOf({
  versionGuard: given,
}: {
  versionGuard?: Static<typeof guard> | undefined;
}): GuardOptions | undefined {
  return given && { windowMs: 60_000, minRequests: 20, ...given };
}
