// Parameters of the policy `workflow` that concern versions.

import { type Static, Type } from 'typebox';
import {
  type PinnedVersions,
  type PinParameters,
  readPinnedVersions,
} from '#lib/conductor/definitions/pinned-versions.ts';
import type { GuardOptions } from './version-guard.ts';

const guard = Type.Object(
  {
    failurePercent: Type.Number({ minimum: 0, maximum: 100, description: 'share of failed requests that it may have' }),
    windowMs: Type.Optional(
      Type.Integer({ minimum: 1, description: 'requests that count, in milliseconds; default 60000' }),
    ),
    minRequests: Type.Optional(
      Type.Integer({ minimum: 1, description: 'of a version and of the others, before it is judged; default 20' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'takes out a version that fails more than it may and more than the others',
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
