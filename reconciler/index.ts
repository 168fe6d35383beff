// Puts the reconciler of one router together from its configuration.

import { fileURLToPath } from 'node:url';
import type { Registry } from 'prom-client';
import { loadDefinitions } from '../conductor/definitions/load-definitions.ts';
import { Engine } from '../conductor/engine.ts';
import { ExecutionApi } from '../conductor/executions/execution-api.ts';
import type { EngineCall } from '../conductor/metadata/metadata-api.ts';
import type { Config } from '../config/schema.ts';
import type { Redis } from '../lib/redis/redis.ts';
import type { Logger } from '../logging/log.ts';
import { createPayloadCodec } from '../payload/payload-codec.ts';
import { Flows } from './flows.ts';
import { noLock, RedisLock } from './leader-lock.ts';
import { Reconciliation } from './reconciliation.ts';
import { type Reconciler, startReconciler } from './reconciler.ts';

const rootDir = fileURLToPath(new URL('..', import.meta.url));

/**
 * A reconciliation by this configuration, through any way to reach the engine.
 * @param config its keys of payloads are read anew in each round
 */
export function createReconciliation(config: Config, call: EngineCall): Reconciliation {
  return new Reconciliation({
    api: new ExecutionApi(call),
    flows: new Flows(loadDefinitions(rootDir)),
    get codec() {
      return createPayloadCodec(config);
    },
    withUpdates: config['mdm.updateQueue'],
    afterMs: config['reconciler.afterMs'],
    lookBackMs: config['reconciler.lookBackSeconds'] * 1_000,
  });
}

/** Starts the reconciler beside a router; null when `reconciler.intervalMs` is 0. */
export function startRouterReconciler(options: {
  config: Config;
  metrics: Registry;
  log: Logger;
  /** Where several routers agree on who reconciles. */
  redis: Redis | undefined;
}): Reconciler | null {
  const { config, metrics, log, redis } = options;
  const intervalMs = config['reconciler.intervalMs'];
  if (intervalMs === 0) return null;
  const engine = new Engine({
    url: config['conductor.url'],
    timeoutMs: config['conductor.timeoutMs'],
    connections: 1,
  });
  // A round that is cut off begins anew elsewhere: nobody waits for its end.
  const stopping = new AbortController();
  const reconciler = startReconciler({
    reconciliation: createReconciliation(config, (request) => engine.request({ ...request, signal: stopping.signal })),
    lock: redis === undefined ? noLock : new RedisLock(redis, intervalMs * 3),
    intervalMs,
    metrics,
    log,
  });
  return {
    async stop() {
      const stopped = reconciler.stop();
      stopping.abort();
      await stopped;
      await engine.close();
    },
  };
}
