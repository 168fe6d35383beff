// Keeps the engine from resolving `${…}` in what a client or a back end wrote: reversible escaping of strings.

/** True when the engine could take a part of the text for an expression. */
export function hasExpression(text: string): boolean {
  return text.includes('${');
}

/** `${` → `$\{`, `\` → `\\`. Undone by {@link unescapeExpressions}. */
export function escapeExpressions(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('${', '$\\{');
}

export function unescapeExpressions(text: string): string {
  return text.replace(/\\([\s\S])/g, '$1');
}

/** Applies `change` to every string in a value made of strings, arrays and plain objects. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)])) as T;
  }
  return value;
}
