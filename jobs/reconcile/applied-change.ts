// Whether a PATCH was applied, judged by the record as it is now: do the values it set stand?

/** `all` or `none` of the members stand; `some`: others were changed since; `unclear`: one side is no JSON object. */
export type AppliedChange = 'all' | 'some' | 'none' | 'unclear';

/** Compares a merge patch (RFC 7396) with a record. Numbers are compared by the digits they were written with. */
export function appliedChangeOf(patch: Buffer, record: Buffer): AppliedChange {
  const wanted = parseObject(patch);
  const found = parseObject(record);
  if (wanted === null || found === null) return 'unclear';
  const members = Object.entries(wanted);
  if (members.length === 0) return 'unclear';
  const standing = members.filter(([name, value]) => stands(value, found[name])).length;
  if (standing === members.length) return 'all';
  return standing === 0 ? 'none' : 'some';
}

function stands(wanted: unknown, found: unknown): boolean {
  // Null removes a member; a record may also say null.
  if (wanted === null) return found === undefined || found === null;
  if (isObject(wanted)) {
    return isObject(found) && Object.entries(wanted).every(([name, value]) => stands(value, found[name]));
  }
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) &&
      wanted.length === found.length &&
      wanted.every((item, index) => stands(item, found[index]))
    );
  }
  return wanted === found;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type ExactParse = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/** Keeps a number apart from a text with the same digits. */
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
