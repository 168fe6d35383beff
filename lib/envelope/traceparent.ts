// Validates and finds `traceparent` values (W3C Trace Context, section 3.2), which identify a trace and the parent
// span.

/** Version 00: version, trace id, parent id, flags. All-zero ids are invalid. */
const pattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns true for a valid value of the header field `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value);
}

/**
 * Returns the `traceparent` in a task's input: the task's own or, if it has none, that of the client's request;
 * undefined when neither is there.
 */
export function traceparentOf(inputData: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const { traceparent, inbound } = (inputData ?? {}) as {
    traceparent?: unknown;
    inbound?: { traceparent?: unknown } | null;
  };
  return [traceparent, inbound?.traceparent].find(isTraceparent);
}
