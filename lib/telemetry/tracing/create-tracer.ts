// Creates the tracer when an OTLP endpoint is configured. Without one, OpenTelemetry is not loaded.

import type { Config } from '#lib/config/schema.ts';
import type { Logger } from '../logging/log.ts';
import type { Tracer } from './tracer.ts';

/** Options of {@link createTracer}. */
export interface TracerOptions {
  config: Pick<Config, 'otel.exporter.otlp.endpoint' | 'otel.exporter.otlp.headers' | 'otel.samplePercent'>;
  /** Name of the process: `service.name` of its spans is `service-router-<program>`. */
  program: string;
  /** Receives one line when exports begin to fail and one when they succeed again. */
  log: Logger;
}

/**
 * Returns the tracer; undefined when tracing is off.
 * @throws Error when an item of `otel.exporter.otlp.headers` is not a header field
 */
export async function createTracer({ config, program, log }: TracerOptions): Promise<Tracer | undefined> {
  const endpoint = config['otel.exporter.otlp.endpoint'];
  if (endpoint === undefined) return undefined;
  const { startOtlpTracer } = await import('./otlp-tracer.ts');
  return startOtlpTracer({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: Object.fromEntries(config['otel.exporter.otlp.headers'].map(parseHeader)),
    sampleRatio: config['otel.samplePercent'] / 100,
    serviceName: `service-router-${program}`,
    log,
  });
}

/**
 * Parses `name=value` with a percent-encoded value, as in OTEL_EXPORTER_OTLP_HEADERS. Error messages do not repeat the
 * value.
 */
function parseHeader(text: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)=(.*)$/.exec(text) ?? [];
  if (name === '') throw new Error('otel.exporter.otlp.headers: each header must be name=value');
  try {
    return [name, decodeURIComponent(value.trim())];
  } catch {
    throw new Error(`otel.exporter.otlp.headers: the value of ${name} is not percent-encoded`);
  }
}
