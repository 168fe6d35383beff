// Parses and validates the interested systems in a response from MDM. mdmWF publishes an event for each system.

import { isMisCode } from '#lib/config/mis-code.ts';
import { RetryableError } from './retryable-error.ts';

/** A system that should receive a person's cccid, according to MDM. */
export interface InterestedSystem {
  misCode: string;
  /** The person's key in that system, from MDM's crosswalk. */
  sisPersonId: string;
  cccid: string;
}

/**
 * Parses MDM's list. A missing list counts as empty.
 * @param cccid the cccid of the PATCH, used for entries that contain none
 * @throws RetryableError when an entry is invalid: MDM may be repaired before the next attempt
 */
export function readInterestedSystems(value: unknown, cccid: string | undefined): InterestedSystem[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RetryableError('interestedSystems in the response from MDM is not a list');
  return value.map((entry: unknown) => {
    const system = { cccid, ...(entry as Partial<InterestedSystem> | null) };
    const isUsable = isMisCode(system.misCode) && isPathSegment(system.sisPersonId) && isNonEmptyString(system.cccid);
    if (!isUsable)
      throw new RetryableError('MDM names an interested system without a valid misCode, sisPersonId or cccid');
    const { misCode, sisPersonId, cccid: shared } = system as InterestedSystem;
    return { misCode, sisPersonId, cccid: shared };
  });
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Rejects lone surrogates, which have no percent-encoding. */
function isPathSegment(value: unknown): boolean {
  return isNonEmptyString(value) && value.isWellFormed();
}
