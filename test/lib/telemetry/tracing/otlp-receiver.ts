// A small OTLP/HTTP receiver: a real HTTP server that decodes the spans it is sent (OTLP 1.x, JSON).

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a span without a parent. */
  readonly parentSpanId: string;
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  /** 2 = error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export interface OtlpReceiver {
  /** What goes into `otel.exporter.otlp.endpoint`. */
  readonly endpoint: string;
  /** Everything that was received, as text, with the header fields it came with. */
  readonly requests: readonly { body: string; headers: Readonly<Record<string, unknown>>; path: string }[];
  spans(): ReceivedSpan[];
  close(): Promise<void>;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}

interface Body {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        name: string;
        kind: number;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Attribute[];
        status: { code?: number };
      }[];
    }[];
  }[];
}

/** @param status of every response */
export async function startOtlpReceiver(status = 200): Promise<OtlpReceiver> {
  const requests: { body: string; headers: Record<string, unknown>; path: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    requests.push({ body, headers: request.headers, path: `${request.method} ${request.url}` });
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans: () => requests.flatMap(({ body }) => decode(JSON.parse(body) as Body)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function decode({ resourceSpans }: Body): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        status: span.status.code ?? 0,
        attributes: valuesOf(span.attributes),
      })),
    ),
  );
}

function valuesOf(attributes: Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const),
  );
}
