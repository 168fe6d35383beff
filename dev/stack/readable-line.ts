// Turns a line of a structured log into one for people; any other line stays as it is.

/** `{"level":"error","msg":"cannot start","error":"…"}` becomes `error: cannot start: …`. */
export function readableLine(line: string): string {
  try {
    const { level, msg, error } = (JSON.parse(line) ?? {}) as Record<string, unknown>;
    if (typeof msg !== 'string') return line;
    return [level, msg, error].filter((part) => part !== undefined).join(': ');
  } catch {
    return line;
  }
}
