// Determines whether a PATCH was applied by comparing its values with the current record.

/**
 * How many members of the patch the record contains. `some`: the others were changed later; `unclear`: patch or record is
 * not a JSON object.
 */
export type AppliedChange = 'all' | 'some' | 'none' | 'unclear';

/** Compares a merge patch (RFC 7396) with a record. Numbers are compared by their digits in the source text. */
export function appliedChangeOf(patch: Buffer, record: Buffer): AppliedChange {
  const expected = parseObject(patch);
  const actual = parseObject(record);
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
  if (isObject(expected)) {
    return isObject(actual) && Object.entries(expected).every(([name, value]) => isApplied(value, actual[name]));
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type ExactParse = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/** Parses a JSON object with numbers as marked strings, so that a number differs from a string of the same digits. */
function parseObject(bytes: Buffer): Record<string, unknown> | null {
  try {
    const value = (JSON.parse as ExactParse)(bytes.toString('utf8'), (_name, member, { source }) =>
      typeof member === 'number' ? `\0${source ?? String(member)}` : member,
    );
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
