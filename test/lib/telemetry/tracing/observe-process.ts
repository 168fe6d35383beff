// Runs as a process of its own: makes a span, then prints which OpenTelemetry modules that loaded and what it patched.

import http from 'node:http';
import https from 'node:https';
import { registerHooks } from 'node:module';
import { createLog } from '#lib/telemetry/logging/log.ts';

const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});

const watched = () => ({
  'http.request': http.request,
  'https.request': https.request,
  'http.Server.prototype.emit': http.Server.prototype.emit,
  fetch: globalThis.fetch,
  'console.log': console.log,
  uncaughtException: process.listenerCount('uncaughtException'),
  SIGTERM: process.listenerCount('SIGTERM'),
  globals: Object.getOwnPropertySymbols(globalThis).filter((symbol) => String(symbol).includes('opentelemetry')).length,
});

const before = watched();
const { createTracer } = await import('#lib/telemetry/tracing/create-tracer.ts');
const endpoint = process.argv[2] === '' ? undefined : process.argv[2];
const tracer = await createTracer({
  config: { 'otel.exporter.otlp.endpoint': endpoint, 'otel.exporter.otlp.headers': [], 'otel.samplePercent': 100 },
  program: 'observed',
  log: createLog('observed', 'silent'),
});
tracer?.start('observed').end();
await tracer?.close(2_000);
const after = watched();

process.stdout.write(
  JSON.stringify({
    modules: loaded.filter((url) => /opentelemetry|otlp-tracer/.test(url)).length,
    patched: Object.keys(before).filter((name) => before[name as 'fetch'] !== after[name as 'fetch']),
  }),
);
