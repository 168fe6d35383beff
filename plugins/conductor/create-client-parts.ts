// Creates the dependencies that the policies for clients share: idempotency locks, asynchronous executions,
// cancellations and long polls.

import type { Counter } from 'prom-client';
import { responseHeaderFilter } from '#lib/envelope/headers.ts';
import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import type { ResponseOptions } from './execution/response.ts';
import { type IdempotencyLocks, LocalIdempotencyLocks } from './idempotency/idempotency-locks.ts';
import { createKeyMetrics } from './idempotency/idempotent-start.ts';
import { RedisIdempotencyLocks } from './idempotency/redis-idempotency-locks.ts';
import { type AsyncDependencies, AsyncExecutions } from './async-executions/async-executions.ts';
import { type CancellationDependencies, Cancellations } from './async-executions/cancellations.ts';
import type { LinksOf } from './execution/links.ts';
import { LongPolls } from './async-executions/long-polls.ts';

/**
 * How long a key stays locked after a start with an unknown outcome, in milliseconds. The timeouts of two engine calls
 * are added to this time.
 */
const unknownOutcomeMs = 60_000;

/** Dependencies of the policies for clients, shared by all configurations. */
export interface ClientDependencies {
  readonly locks: IdempotencyLocks;
  readonly keyRequests: Counter<'outcome'>;
  readonly asyncExecutions: AsyncExecutions;
  readonly cancellations: Cancellations;
  readonly longPolls: LongPolls;
}

/** Creates the shared dependencies. @param dependencies `engine` must use the connections for client requests */
export function createClientDependencies(
  services: SharedServices,
  dependencies: AsyncDependencies & CancellationDependencies,
): ClientDependencies {
  const { config, metrics } = services;
  const cancellations = new Cancellations(dependencies);
  services.onStop('cancellations', () => cancellations.stop());
  return {
    cancellations,
    locks: createLocks(services, unknownOutcomeMs + 2 * config['conductor.timeoutMs']),
    keyRequests: createKeyMetrics(metrics),
    asyncExecutions: new AsyncExecutions(dependencies, metrics),
    longPolls: new LongPolls(metrics),
  };
}

/** Returns the options for creating responses under this configuration. */
export function createResponseOptions(config: Config, linksOf: LinksOf): ResponseOptions {
  return {
    linksOf,
    codec: createPayloadCodec(config),
    maxBytes: config['router.maxResponseBytes'],
    allows: responseHeaderFilter(config['router.responseHeaders']),
  };
}

/** Creates idempotency locks: in Redis if it is configured, otherwise local to this router. */
function createLocks({ redis, addReadinessNotice }: SharedServices, ttlMs: number): IdempotencyLocks {
  if (redis === undefined) return new LocalIdempotencyLocks(ttlMs);
  addReadinessNotice('idempotency', outageNotice(redis, 'requests with an Idempotency-Key are refused'));
  return new RedisIdempotencyLocks(redis, ttlMs);
}
