// Keys that a running router cannot take up: what they stand for is there from its start to its end.

import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigKey } from './schema.ts';

/** Ports, connections that carry what is under way, and what the whole process shares. */
export const restartKeys = [
  'router.host',
  'router.port',
  'router.mapFile',
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
  'reconciler.intervalMs',
  'reconciler.afterMs',
  'reconciler.lookBackSeconds',
  'mdm.updateQueue',
  'reload.watchMs',
  'otel.exporter.otlp.endpoint',
  'otel.exporter.otlp.headers',
  'otel.samplePercent',
  'sentry.dsn',
  'sentry.environment',
] as const satisfies readonly ConfigKey[];

export interface ApplicableConfig {
  /** What was loaded, with the running values of the keys that need a restart. */
  readonly config: Config;
  /** Those of these keys that differ. */
  readonly needRestart: readonly ConfigKey[];
}

/** What of a newly loaded configuration a router can take up that was started with `started`. */
export function applicable(loaded: Config, started: Config): ApplicableConfig {
  const needRestart = restartKeys.filter((key) => !isDeepStrictEqual(loaded[key], started[key]));
  const kept = Object.fromEntries(needRestart.map((key) => [key, started[key]]));
  return { config: Object.freeze({ ...loaded, ...kept }), needRestart };
}
