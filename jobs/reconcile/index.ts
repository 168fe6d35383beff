// Puts the reconciler of one router together from its configuration.

import { isDeepStrictEqual } from 'node:util';
import type { Registry } from 'prom-client';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { Engine } from '#lib/conductor/engine.ts';
import { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import type { EngineCall } from '#lib/conductor/metadata/metadata-api.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { MdmDefinitions } from './mdm-definitions.ts';
import { noLock, RedisLock } from './leader-lock.ts';
import { Reconciliation } from './reconciliation.ts';
import { type Reconciler, startReconciler } from './reconciler.ts';

export interface ReconciliationSources {
  /** Its keys of payloads are read anew in each round. */
  readonly config: Config;
  /** The active definitions, read anew in each round. */
  readonly definitions: () => Definitions;
  /** Any way to reach the engine. */
  readonly call: EngineCall;
}

/** A reconciliation by this configuration and these definitions. */
export function createReconciliation({ config, definitions, call }: ReconciliationSources): Reconciliation {
  const flows = flowsOf(definitions);
  return new Reconciliation({
    api: new ExecutionApi(call),
    get flows() {
      return flows();
    },
    get codec() {
      return createPayloadCodec(config);
    },
    withUpdates: config['mdm.updateQueue'],
    afterMs: config['reconciler.afterMs'],
    lookBackMs: config['reconciler.lookBackSeconds'] * 1_000,
  });
}

/** Returns the same flows as long as the definitions say the same: a reload that changed nothing of them repeats no work. */
function flowsOf(definitions: () => Definitions): () => MdmDefinitions {
  let known = definitions();
  let flows = new MdmDefinitions(known);
  return () => {
    const current = definitions();
    if (current !== known && !isDeepStrictEqual(current, known)) flows = new MdmDefinitions(current);
    known = current;
    return flows;
  };
}

export interface RouterReconcilerOptions extends Pick<ReconciliationSources, 'config' | 'definitions'> {
  readonly metrics: Registry;
  readonly log: Logger;
  /** Where several routers agree on who reconciles. */
  readonly redis: Redis | undefined;
}

/** Starts the reconciler beside a router; null when `reconciler.intervalMs` is 0. */
export function startRouterReconciler(options: RouterReconcilerOptions): Reconciler | null {
  const { config, definitions, metrics, log, redis } = options;
  const intervalMs = config['reconciler.intervalMs'];
  if (intervalMs === 0) return null;
  const engine = new Engine({
    url: config['conductor.url'],
    timeoutMs: config['conductor.timeoutMs'],
    connections: 1,
  });
  // A round that is cut off begins anew elsewhere: nobody waits for its end.
  const stopping = new AbortController();
  const call: EngineCall = (request) => engine.request({ ...request, signal: stopping.signal });
  const reconciler = startReconciler({
    reconciliation: createReconciliation({ config, definitions, call }),
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
