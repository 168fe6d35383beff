// Escapes expressions reversibly, so that the engine does not resolve `${…}` in the data of clients and back ends.

/** Returns true when the engine could interpret a part of the text as an expression. */
export function hasExpression(text: string): boolean {
  return text.includes('${');
}

/** Escapes `${` as `$\{` and `\` as `\\`. Reversed by {@link unescapeExpressions}. */
export function escapeExpressions(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('${', '$\\{');
}

/** Reverses {@link escapeExpressions}. */
export function unescapeExpressions(text: string): string {
  return text.replace(/\\([\s\S])/g, '$1');
}

/** Returns a copy of a JSON value with `change` applied to every string, except for keys. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)])) as T;
  }
  return value;
}
