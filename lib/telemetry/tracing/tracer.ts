// What the product needs of tracing, whatever is behind it: spans that know their parent, and nothing that could name a person.

import type { SpanAttributes } from './attributes.ts';

/** What a span is to those around it (OpenTelemetry's span kinds). */
export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

export interface SpanOptions {
  /** Default `internal`. */
  kind?: SpanKind;
  /** When it began (performance.now()); default now. */
  startedAt?: number;
  attributes?: SpanAttributes;
}

export interface SpanEnd {
  /** When it ended (performance.now()); default now. */
  endedAt?: number;
  attributes?: SpanAttributes;
  /** Marks it as failed. A code of ours or a status, never a message. */
  error?: string | undefined;
}

/** One step of a trace. */
export interface Span {
  /** Names this span as the parent of what others do for it (W3C Trace Context). */
  readonly traceparent: string;
  /** Begins a step below this one. */
  start(name: string, options?: SpanOptions): Span;
  /** Ends it; once. A span that never ends is never sent. */
  end(end?: SpanEnd): void;
}

/** Begins spans, and sends those that have ended in the background. */
export interface Tracer {
  /** @param options `parent`: a valid `traceparent`; without one a trace begins here */
  start(name: string, options?: SpanOptions & { parent?: string | undefined }): Span;
  /**
   * Sends what is still waiting and releases everything.
   * @param timeoutMs gives up after this time
   */
  close(timeoutMs: number): Promise<void>;
}
