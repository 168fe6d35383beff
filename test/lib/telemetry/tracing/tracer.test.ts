// Tests of the tracer and its exporter: which spans are sent, that nothing is traced without an endpoint, and that a
// failing receiver does no harm.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { allowedAttributes, type SpanAttributes } from '#lib/telemetry/tracing/attributes.ts';
import { createTracer } from '#lib/telemetry/tracing/create-tracer.ts';
import type { Tracer } from '#lib/telemetry/tracing/tracer.ts';
import { pollUntil } from '../../../stack/poll-until.ts';
import { observe } from '../observe.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

/**
 * Log lines of the tracer that was started last. An exporter that still retries after its test has ended writes to the
 * list of that test.
 */
let lines: string[] = [];
const start = async (endpoint: string, options: { headers?: string[]; percent?: number } = {}): Promise<Tracer> => {
  const own: string[] = [];
  lines = own;
  const log = {
    warn: (_fields: object, text: string) => own.push(text),
    info: (text: string) => own.push(text),
  } as unknown as Logger;
  const config = {
    'otel.exporter.otlp.endpoint': endpoint,
    'otel.exporter.otlp.headers': options.headers ?? [],
    'otel.samplePercent': options.percent ?? 100,
  };
  return (await createTracer({ config, program: 'router', log })) as Tracer;
};

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('spans', () => {
  it('have arrived when close resolves, with their parents, times and attributes', async () => {
    const tracer = await start(`${receiver.url}/base/`, { headers: ['x-key=a%20b', 'x-other=c=d'] });
    const startedAt = performance.now() - 1_000;
    const root = tracer.start('root', { kind: 'server', parent, startedAt, attributes: { 'router.route': 'movies' } });
    const child = root.start('child', { kind: 'client' });
    child.end({ error: 'back-end-timeout' });
    root.end({ attributes: { 'http.response.status_code': 504 } });
    await tracer.close(2_000);
    expect(receiver.requests[0]).toMatchObject({
      path: 'POST /base/v1/traces',
      headers: { 'x-key': 'a b', 'x-other': 'c=d' },
    });
    const spans = new Map(receiver.spans().map((span) => [span.name, span]));
    expect(spans.get('root')).toMatchObject({
      service: 'service-router-router',
      kind: 2,
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      parentSpanId: '00f067aa0ba902b7',
      attributes: { 'router.route': 'movies', 'http.response.status_code': 504 },
    });
    expect(spans.get('child')).toMatchObject({
      kind: 3,
      status: 2,
      parentSpanId: spans.get('root')?.spanId,
      attributes: { 'error.type': 'back-end-timeout' },
    });
    const { start: began, end } = spans.get('root')!;
    expect(Number(end - began) / 1e6).toBeGreaterThanOrEqual(1_000);
    expect(Math.abs(Number(end / 1_000_000n) - Date.now())).toBeLessThan(5_000);
  });

  it('have a traceparent with the id of the span and the sampled flag of the trace', async () => {
    const tracer = await start(receiver.url);
    expect(tracer.start('x', { parent }).traceparent).toMatch(
      /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/,
    );
    expect(tracer.start('x', { parent: parent.replace(/01$/, '00') }).traceparent).toMatch(/-00$/);
    expect(tracer.start('x').traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    await tracer.close(1_000);
  });

  it('at 10 %: sends about a tenth of local traces and every trace that a client samples, all complete', async () => {
    const tracer = await start(receiver.url, { percent: 10 });
    for (let index = 0; index < 400; index++) {
      const span = tracer.start('begun here');
      span.start('below').end();
      span.end();
    }
    for (let index = 0; index < 10; index++) tracer.start('a client’s', { parent }).end();
    await tracer.close(2_000);
    const names = receiver.spans().map(({ name }) => name);
    const count = (name: string) => names.filter((one) => one === name).length;
    expect(count('begun here')).toBeGreaterThan(10);
    expect(count('begun here')).toBeLessThan(90);
    expect(count('below')).toBe(count('begun here'));
    expect(count('a client’s')).toBe(10);
  });

  it('contain only attributes on the allow-list, truncated to 128 characters', () => {
    const hostile = {
      'router.route': 'movies',
      'url.path': '/persons/marker',
      authorization: 'marker',
    } as SpanAttributes;
    expect(allowedAttributes(hostile)).toEqual({ 'router.route': 'movies' });
    expect(String(allowedAttributes({ 'router.request_id': 'x'.repeat(1_000) })['router.request_id'])).toHaveLength(
      128,
    );
  });
});

describe('failures', () => {
  it('an endpoint that is down: one log line, and close resolves in time', async () => {
    const { url } = receiver;
    await receiver.close();
    const tracer = await start(url);
    tracer.start('lost').end();
    // The exporter tries for a few seconds before it gives up.
    await pollUntil('the log line', () => lines.length > 0);
    tracer.start('also lost').end();
    const before = performance.now();
    await tracer.close(300);
    expect(performance.now() - before).toBeLessThan(30_000);
    expect(lines).toEqual(['the OTLP endpoint does not accept spans: spans are dropped']);
    receiver = await startOtlpReceiver();
  });

  it('an endpoint that refuses spans: one log line, however many it refuses', async () => {
    const refusing = await startOtlpReceiver(400);
    const tracer = await start(refusing.url);
    for (const sent of [1, 2, 3]) {
      tracer.start('refused').end();
      await pollUntil('the spans to be refused', () => refusing.requests.length >= sent);
    }
    await tracer.close(1_000);
    await refusing.close();
    expect(lines).toEqual(['the OTLP endpoint does not accept spans: spans are dropped']);
  });

  it('an endpoint that accepts spans again: a log line says so, and these spans arrive', async () => {
    receiver.respondWith(400);
    const tracer = await start(receiver.url);
    tracer.start('refused').end();
    await pollUntil('the first log line', () => lines.length > 0);
    receiver.respondWith(200);
    tracer.start('accepted').end();
    await pollUntil('the second log line', () => lines.length > 1);
    await tracer.close(1_000);
    expect(lines).toEqual([
      'the OTLP endpoint does not accept spans: spans are dropped',
      'the OTLP endpoint accepts spans again',
    ]);
    expect(receiver.spans().map(({ name }) => name)).toEqual(['refused', 'accepted']);
  });

  it.each([
    ['nonsense', /each header must be name=value/],
    ['x-key=%zz', /the value of x-key is not percent-encoded/],
  ])('the malformed header %s: refused with a message that does not contain its value', async (header, message) => {
    await expect(start(receiver.url, { headers: [header] })).rejects.toThrow(message);
    await expect(start(receiver.url, { headers: [header] })).rejects.not.toThrow('zz');
  });
});

describe('the process', () => {
  it('without an endpoint: no OpenTelemetry module is loaded, and no function is patched', async () => {
    expect(await observe('span', '')).toEqual({ modules: 0, patched: [] });
  });

  it('with an endpoint: OpenTelemetry modules are loaded, the span is sent, and no function is patched', async () => {
    const { modules, patched } = await observe('span', receiver.url);
    expect(modules).toBeGreaterThan(1);
    expect(patched).toEqual([]);
    expect(receiver.spans().map(({ name }) => name)).toEqual(['observed']);
  });
});
