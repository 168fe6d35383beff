// `traceparent` (W3C Trace Context, section 3.2): the trace a request belongs to, and the span that what follows hangs below.

/** Version 00: version, trace id, parent id, flags; ids of nothing but zeros are invalid. */
const pattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** True for a value that may be passed on as the header field `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value);
}

/** The trace context in a task's input: its own, else that of the client's request; undefined when there is none. */
export function traceparentOf(inputData: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const { traceparent, inbound } = (inputData ?? {}) as {
    traceparent?: unknown;
    inbound?: { traceparent?: unknown } | null;
  };
  return [traceparent, inbound?.traceparent].find(isTraceparent);
}
