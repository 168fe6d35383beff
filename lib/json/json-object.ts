// Parses JSON objects, either like JSON.parse or without rounding numbers. The digits of a number come from the source
// text that JSON.parse passes to its reviver.

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/**
 * Returns the members of a JSON object, or null when `json` is anything else. At every depth, each number is replaced
 * by the result of `toValue`.
 * @param json UTF-8 bytes or text
 * @param toValue returns the replacement for a number with these digits. Default: the digits as text, because
 *   JSON.parse would round a long number, such as a person's key
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

/** Parses a JSON object like JSON.parse. Returns null when `json` is anything else. @param json UTF-8 bytes or text */
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
