// The systems that MDM wants told of a person, checked: each becomes an event and a task domain of its own.

import { RetryableError } from './retryable-error.ts';

export interface InterestedSystem {
  misCode: string;
  /** The person's key in that system, by MDM's crosswalk. */
  sisPersonId: string;
  cccid: string;
}

/**
 * Reads MDM's list; an absent one is empty.
 * @param cccid the patched one, for entries that do not repeat it
 * @throws TryLater when an entry is unusable: MDM may be mended while the task waits
 */
export function readInterestedSystems(value: unknown, cccid: string | undefined): InterestedSystem[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RetryableError('the interestedSystems of MDM are no list');
  return value.map((entry: unknown) => {
    const system = { cccid, ...(entry as Partial<InterestedSystem> | null) };
    const isUsable =
      /^[0-9A-Za-z]{1,8}$/.test(system.misCode ?? '') && isPathSegment(system.sisPersonId) && isKey(system.cccid);
    if (!isUsable) throw new RetryableError('MDM names an interested system without misCode, sisPersonId and cccid');
    const { misCode, sisPersonId, cccid: shared } = system as InterestedSystem;
    return { misCode, sisPersonId, cccid: shared };
  });
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A lone surrogate has no percent-encoding. */
function isPathSegment(value: unknown): boolean {
  return isKey(value) && value.isWellFormed();
}
