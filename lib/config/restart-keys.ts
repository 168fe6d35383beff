// Defines the configuration keys whose changes take effect only after a restart of the router.

import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigKey } from './schema.ts';

/** Keys that define ports, connections with requests in flight, or process-wide state. */
export const restartKeys = [
  'router.host',
  'router.port',
  'router.gatewayConfigFile',
  'router.resultBytes',
  'router.tlsCertificateFile',
  'router.tlsKeyFile',
  'ops.host',
  'ops.hosts',
  'ops.port',
  'conductor.url',
  'conductor.timeoutMs',
  'conductor.connections',
  'conductor.uiURL',
  'admission.initialLimit',
  'redis.url',
  'records.keyPrefix',
  'records.max',
  'reconciler.intervalMs',
  'reconciler.afterMs',
  'reconciler.lookBackSeconds',
  'mdm.updateQueueURL',
  'reload.watchMs',
  'otel.exporter.otlp.endpoint',
  'otel.exporter.otlp.headers',
  'otel.samplePercent',
  'sentry.dsn',
  'sentry.environment',
] as const satisfies readonly ConfigKey[];

/** The result of {@link applicable}. */
export interface ApplicableConfig {
  /** The loaded configuration with the current values of the keys in `needRestart`. */
  readonly config: Config;
  /** Changed keys that need a restart, and keys that depend on them. */
  readonly needRestart: readonly ConfigKey[];
}

/**
 * Returns the part of a loaded configuration that a running router can apply.
 * @param started configuration at startup
 */
export function applicable(loaded: Config, started: Config): ApplicableConfig {
  const needRestart: ConfigKey[] = restartKeys.filter((key) => !isDeepStrictEqual(loaded[key], started[key]));
  // The limit store needs a connection to Redis, which the router opens only at startup.
  if (loaded['limits.store'] === 'redis' && needRestart.includes('redis.url') && started['redis.url'] === undefined)
    needRestart.push('limits.store');
  const kept = Object.fromEntries(needRestart.map((key) => [key, started[key]]));
  return { config: Object.freeze({ ...loaded, ...kept }), needRestart };
}
