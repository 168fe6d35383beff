// A tracer that stores its spans, for tests of code that uses a tracer.

import type { Span, SpanEnd, SpanOptions, Tracer } from '#lib/telemetry/tracing/tracer.ts';

export interface WrittenSpan {
  readonly name: string;
  readonly options: SpanOptions & { parent?: string | undefined };
  /** Absent until the span ends. */
  end?: SpanEnd;
}

export function keepingTracer(): { tracer: Tracer; written: WrittenSpan[] } {
  const written: WrittenSpan[] = [];
  const start = (name: string, options: WrittenSpan['options'] = {}): Span => {
    const entry: WrittenSpan = { name, options };
    written.push(entry);
    return { traceparent: `of ${name}`, start, end: (end = {}) => void (entry.end = end) };
  };
  return { tracer: { start, close: async () => undefined }, written };
}
