// Puts together what the policies for clients share: one start a key, what goes on behind a 202, long polls.

import type { Counter } from 'prom-client';
import { responseHeaderFilter } from '#lib/envelope/headers.ts';
import type { Config } from '#lib/config/schema.ts';
import type { SharedServices } from '../../gateway/plugin-api/plugin-api.ts';
import { outageNotice } from '#lib/redis/connect-redis.ts';
import { createPayloadCodec } from '#lib/envelope/encryption/payload-codec.ts';
import type { AnswerOptions } from './execution/response.ts';
import type { ExecutionDependencies } from './execution/executions.ts';
import { type IdempotencyLocks, LocalIdempotencyLocks } from './idempotency/idempotency-locks.ts';
import { createKeyMetrics } from './idempotency/idempotent-start.ts';
import { RedisIdempotencyLocks } from './idempotency/redis-idempotency-locks.ts';
import { AsyncExecutions } from './async-executions/async-executions.ts';
import type { LinksOf } from './execution/links.ts';
import { LongPolls } from './async-executions/long-polls.ts';

/** How long a start whose outcome nobody knows keeps its key, besides what two calls to the engine may take. */
const unknownMs = 60_000;

/** What outlives a configuration. */
export interface ClientParts {
  readonly claims: IdempotencyLocks;
  readonly keyRequests: Counter<'outcome'>;
  readonly deferred: AsyncExecutions;
  readonly longPolls: LongPolls;
}

/** @param parts with the engine that clients wait for */
export function createClientParts(
  services: SharedServices,
  parts: Pick<ExecutionDependencies, 'waits' | 'engine' | 'executions' | 'draining'>,
): ClientParts {
  const { config, metrics } = services;
  return {
    claims: createClaims(services, unknownMs + 2 * config['conductor.timeoutMs']),
    keyRequests: createKeyMetrics(metrics),
    deferred: new AsyncExecutions(parts, metrics),
    longPolls: new LongPolls(metrics),
  };
}

/** How this configuration makes answers of executions. */
export function createAnswerOptions(config: Config, linksOf: LinksOf): AnswerOptions {
  return {
    linksOf,
    codec: createPayloadCodec(config),
    maxBytes: config['router.maxAnswerBytes'],
    allows: responseHeaderFilter(config['router.responseHeaders']),
  };
}

/** Where routers share an engine, `redis.url` tells them of each other. */
function createClaims({ redis, addReadinessNotice }: SharedServices, ttlMs: number): IdempotencyLocks {
  if (redis === undefined) return new LocalIdempotencyLocks(ttlMs);
  addReadinessNotice('idempotency', outageNotice(redis, 'requests with an Idempotency-Key are refused'));
  return new RedisIdempotencyLocks(redis, ttlMs);
}
