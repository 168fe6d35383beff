// A small OTLP/HTTP receiver: a real HTTP server that decodes received spans (OTLP 1.x, JSON).

import { type HttpRecorder, startHttpRecorder } from '../../../stack/http-recorder.ts';

/** A span in OTLP, with the fields that tests read. */
interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for a span without a parent. */
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

export interface ReceivedSpan extends Pick<OtlpSpan, 'name' | 'kind' | 'traceId' | 'spanId'> {
  readonly service: string;
  /** Empty for a span without a parent. */
  readonly parentSpanId: string;
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  /** 2 = error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export interface OtlpReceiver extends HttpRecorder {
  spans(): ReceivedSpan[];
}

/** Starts a receiver; set `otel.exporter.otlp.endpoint` to its `url`. @param status status of every response */
export async function startOtlpReceiver(status = 200): Promise<OtlpReceiver> {
  const recorder = await startHttpRecorder(status);
  return { ...recorder, spans: () => recorder.requests.flatMap(({ body }) => decode(JSON.parse(body) as Body)) };
}

function decode({ resourceSpans }: Body): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service,
        parentSpanId: span.parentSpanId ?? '',
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        status: span.status.code ?? 0,
        attributes: valuesOf(span.attributes),
      })),
    );
  });
}

function valuesOf(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
}
