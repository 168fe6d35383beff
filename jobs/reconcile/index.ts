// Creates the reconciler from the configuration, for the router and for the CLI.

import { isDeepStrictEqual } from 'node:util';
import type { Registry } from 'prom-client';
import type { Definitions } from '#lib/conductor/definitions/load-definitions.ts';
import { Engine } from '#lib/conductor/engine.ts';
import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { SendRequest } from '#lib/conductor/send-call.ts';
import type { Config } from '#lib/config/schema.ts';
import { createExecutionApi, recordsOf } from '#lib/records/chosen-index.ts';
import type { Redis } from '#lib/redis/redis.ts';
import type { Logger } from '#lib/telemetry/logging/log.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import { MdmDefinitions } from './mdm-definitions.ts';
import { noLock, RedisLock } from './leader-lock.ts';
import type { ReadQueueSizes } from './event-backlog.ts';
import { concurrentInspections, ReconcileRounds } from './reconcile-rounds.ts';
import { type Reconciler, startReconciler } from './reconciler.ts';

/** The configuration, definitions and engine access of the reconcile rounds. */
export interface ReconcileSources {
  /** Its payload keys are read again in each round. */
  readonly config: Config;
  /** Returns the active definitions; called in each round. */
  readonly definitions: () => Definitions;
  readonly api: ExecutionApi;
  readonly readQueueSizes: ReadQueueSizes;
}

/** Creates the reconcile rounds from a configuration and its definitions. */
export function createReconcileRounds({ config, definitions, api, readQueueSizes }: ReconcileSources): ReconcileRounds {
  const mdmDefinitions = mdmDefinitionsOf(definitions);
  return new ReconcileRounds({
    api,
    readQueueSizes,
    get mdmDefinitions() {
      return mdmDefinitions();
    },
    get codec() {
      return createPayloadCodec(config);
    },
    afterMs: config['reconciler.afterMs'],
    lookBackMs: config['reconciler.lookBackSeconds'] * 1_000,
  });
}

/**
 * Creates a function that returns the same object until the definitions change, so that a reload without changes
 * repeats no work.
 */
export function mdmDefinitionsOf(definitions: () => Definitions): () => MdmDefinitions {
  let known = definitions();
  let mdmDefinitions = new MdmDefinitions(known);
  return () => {
    const current = definitions();
    if (current !== known && !isDeepStrictEqual(current, known)) mdmDefinitions = new MdmDefinitions(current);
    known = current;
    return mdmDefinitions;
  };
}

/** Dependencies of the router's reconciler. */
export interface RouterReconcilerOptions extends Pick<ReconcileSources, 'config' | 'definitions'> {
  readonly metrics: Registry;
  readonly log: Logger;
  /** Holds the leader lock; undefined: every router reconciles. */
  readonly redis: Redis | undefined;
}

/** Starts the reconciler of a router; returns null when `reconciler.intervalMs` is 0. */
export function startRouterReconciler(options: RouterReconcilerOptions): Reconciler | null {
  const { config, definitions, metrics, log, redis } = options;
  const intervalMs = config['reconciler.intervalMs'];
  if (intervalMs === 0) return null;
  const engine = new Engine({
    url: config['conductor.url'],
    timeoutMs: config['conductor.timeoutMs'],
    connections: concurrentInspections,
  });
  // Stopping aborts the current round. Any router can repeat the round, so there is no need to finish it.
  const stopping = new AbortController();
  const call: SendRequest = (request) => engine.request({ ...request, signal: stopping.signal });
  const api = createExecutionApi({ call, ...recordsOf({ redis, config, metrics, log }) });
  const metadata = new MetadataApi(call);
  const readQueueSizes = () => metadata.readQueueSizes();
  const reconciler = startReconciler({
    createRounds: () => createReconcileRounds({ config, definitions, api, readQueueSizes }),
    lookBackMs: config['reconciler.lookBackSeconds'] * 1_000,
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
