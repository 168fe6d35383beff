// Determines whether a PATCH was applied by comparing its values with the current record.

import { isJsonObject, parseJsonObject } from '#lib/json/json-object.ts';

/**
 * How many members of the patch the record contains. `some`: the other members were changed later; `unclear`: the
 * patch or the record is not a JSON object, or the patch is empty.
 */
export type AppliedChange = 'all' | 'some' | 'none' | 'unclear';

/** Compares a merge patch (RFC 7396) with a record. Numbers are compared by their digits in the source text. */
export function appliedChangeOf(patch: Buffer, record: Buffer): AppliedChange {
  const expected = parseJsonObject(patch, markNumber);
  const actual = parseJsonObject(record, markNumber);
  if (expected === null || actual === null) return 'unclear';
  const members = Object.entries(expected);
  if (members.length === 0) return 'unclear';
  const applied = members.filter(([name, value]) => isApplied(value, actual[name])).length;
  if (applied === members.length) return 'all';
  return applied === 0 ? 'none' : 'some';
}

function isApplied(expected: unknown, actual: unknown): boolean {
  // In a merge patch null removes a member; a record may contain null instead.
  if (expected === null) return actual === undefined || actual === null;
  if (isJsonObject(expected)) {
    return isJsonObject(actual) && Object.entries(expected).every(([name, value]) => isApplied(value, actual[name]));
  }
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      expected.length === actual.length &&
      expected.every((item, index) => isApplied(item, actual[index]))
    );
  }
  return expected === actual;
}

/** Marks numbers, so that a number differs from a string of the same digits. */
function markNumber(digits: string): string {
  return `\0${digits}`;
}
