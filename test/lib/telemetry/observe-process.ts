// The process that `observe` runs. It reports an error or creates a span, then prints how many telemetry modules were
// loaded and which functions were patched.

import { channel } from 'node:diagnostics_channel';
import http from 'node:http';
import https from 'node:https';
import { registerHooks } from 'node:module';
import { createLog } from '#lib/telemetry/logging/log.ts';

const [kind, address = ''] = process.argv.slice(2);
const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});

const watched = (): Readonly<Record<string, unknown>> => ({
  'http.request': http.request,
  'http.get': http.get,
  'http.Server.prototype.emit': http.Server.prototype.emit,
  'https.request': https.request,
  fetch: globalThis.fetch,
  'console.log': console.log,
  'console.error': console.error,
  'process.emit': process.emit,
  'Error.prepareStackTrace': Error.prepareStackTrace,
  'Function.prototype.toString': Function.prototype.toString,
  uncaughtException: process.listenerCount('uncaughtException'),
  unhandledRejection: process.listenerCount('unhandledRejection'),
  SIGTERM: process.listenerCount('SIGTERM'),
  'http channel': channel('http.client.request.start').hasSubscribers,
  'http server channel': channel('http.server.request.start').hasSubscribers,
  'undici channel': channel('undici:request:create').hasSubscribers,
  globals: Object.getOwnPropertySymbols(globalThis).filter((symbol) => String(symbol).includes('opentelemetry')).length,
});

async function reportError(): Promise<void> {
  const { createErrorTracker } = await import('#lib/telemetry/error-tracking/error-tracker.ts');
  const tracker = await createErrorTracker({ dsn: address, environment: 'test', program: 'observed' });
  tracker.report(new Error('observed'));
  await tracker.close(2_000);
}

async function makeSpan(): Promise<void> {
  const { createTracer } = await import('#lib/telemetry/tracing/create-tracer.ts');
  const endpoint = address === '' ? undefined : address;
  const config = {
    'otel.exporter.otlp.endpoint': endpoint,
    'otel.exporter.otlp.headers': [],
    'otel.samplePercent': 100,
  };
  const tracer = await createTracer({ config, program: 'observed', log: createLog('observed', 'silent') });
  tracer?.start('observed').end();
  await tracer?.close(2_000);
}

const before = watched();
await (kind === 'error' ? reportError() : makeSpan());
const after = watched();
const modules = loaded.filter((url) => /@sentry|opentelemetry|import-in-the-middle|otlp-tracer/.test(url)).length;
const patched = Object.keys(before).filter((name) => before[name] !== after[name]);
process.stdout.write(JSON.stringify({ modules, patched }));
