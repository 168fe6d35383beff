// Parses JSON objects: as JSON.parse does, or without rounding numbers (using the source text that JSON.parse passes to
// its reviver).

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/**
 * Returns the members of a JSON object; null when `json` is anything else. Numbers are replaced at every depth.
 * @param json bytes in UTF-8, or text
 * @param toValue value for a number with these digits. Default: the digits as text, because a long number, such as a
 *   person's key, would be rounded
 */
export function parseJsonObject(
  json: Buffer | string,
  toValue: (digits: string) => unknown = (digits) => digits,
): Record<string, unknown> | null {
  try {
    const value = (JSON.parse as ParseWithSource)(json.toString(), (_key, member, { source }) =>
      typeof member === 'number' ? toValue(source ?? String(member)) : member,
    );
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns a JSON object as JSON.parse does; null when `json` is anything else. @param json bytes in UTF-8, or text */
export function readJsonObject(json: Buffer | string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json.toString());
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns true for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
