// Exports spans over OTLP with OpenTelemetry's SDK, without globals or automatic instrumentation.

import {
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  type Context,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME } from '@opentelemetry/semantic-conventions';
import { randomUUID } from 'node:crypto';
import type { Logger } from '../logging/log.ts';
import { allowedAttributes } from './attributes.ts';
import type { Span, SpanEnd, SpanKind, SpanOptions, Tracer } from './tracer.ts';

/** Options of {@link startOtlpTracer}. */
export interface OtlpTracerOptions {
  /** URL to which spans are posted (OTLP/HTTP, JSON). */
  url: string;
  headers: Readonly<Record<string, string>>;
  /**
   * Sampled fraction of the traces that begin in this process, 0 to 1. For a span with a remote parent, the parent's
   * sampled flag decides.
   */
  sampleRatio: number;
  serviceName: string;
  log: Logger;
}

const kinds: Record<SpanKind, OtelKind> = {
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  consumer: OtelKind.CONSUMER,
  internal: OtelKind.INTERNAL,
};

/** Interval between exports, in milliseconds. */
const exportIntervalMs = 1_000;
/** Capacity of the export queue; further spans are dropped. */
const maxQueuedSpans = 8_192;

/** Returns a tracer that exports spans in batches. */
export function startOtlpTracer({ url, headers, sampleRatio, serviceName, log }: OtlpTracerOptions): Tracer {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: 5_000 });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ [ATTR_SERVICE_NAME]: serviceName, [ATTR_SERVICE_INSTANCE_ID]: randomUUID() }),
    sampler: new ParentBasedSampler({
      root: sampleRatio >= 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(sampleRatio),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: announceOutages(exporter, log),
        scheduledDelayMillis: exportIntervalMs,
        maxQueueSize: maxQueuedSpans,
      }),
    ],
  });
  const tracer = provider.getTracer('service-router');
  return {
    start: (name, { parent, ...options } = {}) =>
      new OtlpSpan(tracer, { name, context: parent === undefined ? ROOT_CONTEXT : contextOf(parent), options }),
    async close(timeoutMs) {
      const { promise: tooLate, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      await Promise.race([provider.shutdown().catch(() => undefined), tooLate]);
      clearTimeout(timer);
    },
  };
}

/** Returns the context of the remote parent that a `traceparent` identifies. */
function contextOf(traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

class OtlpSpan implements Span {
  readonly #tracer: OtelTracer;
  readonly #span;
  readonly #context: Context;

  constructor(
    tracer: OtelTracer,
    { name, context, options }: { name: string; context: Context; options: SpanOptions },
  ) {
    const { kind = 'internal', startedAt, attributes } = options;
    this.#tracer = tracer;
    this.#span = tracer.startSpan(
      name,
      {
        kind: kinds[kind],
        attributes: allowedAttributes(attributes),
        ...(startedAt === undefined ? {} : { startTime: startedAt }),
      },
      context,
    );
    this.#context = trace.setSpan(context, this.#span);
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`;
  }

  start(name: string, options: SpanOptions = {}): Span {
    return new OtlpSpan(this.#tracer, { name, context: this.#context, options });
  }

  end({ endedAt, attributes, error }: SpanEnd = {}): void {
    this.#span.setAttributes(allowedAttributes({ ...attributes, 'error.type': error }));
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(endedAt);
  }
}

/** Drops spans that cannot be exported, and logs when exports begin to fail and when they succeed again. */
function announceOutages(exporter: SpanExporter, log: Logger): SpanExporter {
  let isOutage = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        if (failed && !isOutage)
          log.warn({ spans: spans.length }, 'the OTLP endpoint does not accept spans: spans are dropped');
        if (!failed && isOutage) log.info('the OTLP endpoint accepts spans again');
        isOutage = failed;
        // Reports success, because the batch processor would pass a failure to OpenTelemetry's global error handler,
        // which is not used.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
