// The tracing interface of the product: spans with parents and allow-listed attributes, free of personal data.

import type { SpanAttributes } from './attributes.ts';

/** Span kinds of OpenTelemetry that the product uses. */
export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

/** Options for the start of a span. */
export interface SpanOptions {
  /** Default `internal`. */
  kind?: SpanKind;
  /** Start time (performance.now()). Default: now. */
  startedAt?: number;
  attributes?: SpanAttributes;
}

/** Options for the end of a span. */
export interface SpanEnd {
  /** End time (performance.now()). Default: now. */
  endedAt?: number;
  attributes?: SpanAttributes;
  /** Reason why the span failed: a problem code or an HTTP status, never a message. Absent when the span succeeded. */
  error?: string | undefined;
}

/** One step of a trace. */
export interface Span {
  /** Identifies this span as a parent for downstream requests (W3C Trace Context). */
  readonly traceparent: string;
  /** Starts a child span. */
  start(name: string, options?: SpanOptions): Span;
  /** Ends the span; call it once. A span that is not ended is never sent. */
  end(end?: SpanEnd): void;
}

/** Starts spans, and sends ended spans in the background. */
export interface Tracer {
  /** Starts a span. @param options `parent`: a valid `traceparent`; without it, the span is the root of a new trace */
  start(name: string, options?: SpanOptions & { parent?: string | undefined }): Span;
  /**
   * Sends the queued spans and releases all resources. Never rejects.
   * @param timeoutMs time in milliseconds after which it gives up
   */
  close(timeoutMs: number): Promise<void>;
}
