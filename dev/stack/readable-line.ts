// Converts a line of a JSON log to readable text.

/**
 * Converts `{"level":"error","msg":"cannot start","error":"…"}` to `error: cannot start: …`. Other lines stay as they
 * are.
 */
export function readableLine(line: string): string {
  try {
    const { level, msg, error } = (JSON.parse(line) ?? {}) as Record<string, unknown>;
    if (typeof msg !== 'string') return line;
    return [level, msg, error].filter((part) => part !== undefined).join(': ');
  } catch {
    return line;
  }
}
