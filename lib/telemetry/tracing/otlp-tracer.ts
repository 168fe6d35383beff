// The tracer behind an endpoint: OpenTelemetry's SDK without globals and instrumentation; it sees what is given to it.

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

export interface OtlpTracerOptions {
  /** Where spans are posted (OTLP/HTTP, JSON). */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Part of the traces that begin here which is sent, 0 to 1. One that a client began is sent when the client says so. */
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

/** How often spans are sent, in milliseconds. */
const sendEveryMs = 1_000;
/** Spans that may wait to be sent; beyond them new ones are dropped. */
const mostWaiting = 8_192;

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
        scheduledDelayMillis: sendEveryMs,
        maxQueueSize: mostWaiting,
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

/** The remote parent that a `traceparent` names. */
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

/** Spans that cannot be sent are lost, and nothing else is: one line when that begins, one when it is over. */
function announceOutages(exporter: SpanExporter, log: Logger): SpanExporter {
  let isAway = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        if (failed && !isAway)
          log.warn({ spans: spans.length }, 'the OTLP endpoint does not take spans: they are lost');
        if (!failed && isAway) log.info('the OTLP endpoint takes spans again');
        isAway = failed;
        // The batch processor would only report the error to nobody.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
