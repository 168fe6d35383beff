// Runs as a process of its own: reports an error, then prints which modules that loaded and what it patched.

import { channel } from 'node:diagnostics_channel';
import http from 'node:http';
import https from 'node:https';
import { registerHooks } from 'node:module';

export interface Observation {
  /** Addresses of loaded modules that belong to Sentry or OpenTelemetry. */
  readonly trackerModules: string[];
  /** Names of what is not as it was before. */
  readonly patched: string[];
}

const loaded: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});

const watched = () => ({
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
  'http channel': channel('http.client.request.start').hasSubscribers,
  'http server channel': channel('http.server.request.start').hasSubscribers,
  'undici channel': channel('undici:request:create').hasSubscribers,
});

const before = watched();
const { createErrorTracker } = await import('#lib/telemetry/error-tracking/error-tracker.ts');
const tracker = await createErrorTracker({ dsn: process.argv[2], environment: 'test', program: 'observed' });
tracker.report(new Error('observed'));
await tracker.close(2000);
const after = watched();

const observation: Observation = {
  trackerModules: loaded.filter((url) => /@sentry|opentelemetry|import-in-the-middle/.test(url)),
  patched: Object.keys(before).filter(
    (name) => before[name as keyof typeof before] !== after[name as keyof typeof after],
  ),
};
process.stdout.write(JSON.stringify(observation));
