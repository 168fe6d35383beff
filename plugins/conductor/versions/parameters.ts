// Parameters of the policy `workflow` that are about versions.

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

export const versionGuard = Type.Optional(guard);

/** @throws Error that says what to do: the router does not start */
export function pinnedVersionsOf(parameters: PinParameters): PinnedVersions {
  const { pinned, problems } = readPinnedVersions(parameters);
  if (pinned === undefined) throw new Error(problems.join('\n'));
  return pinned;
}

/** With its defaults. */
export function guardOf({
  versionGuard: given,
}: {
  versionGuard?: Static<typeof guard> | undefined;
}): GuardOptions | undefined {
  return given && { windowMs: 60_000, minRequests: 20, ...given };
}
