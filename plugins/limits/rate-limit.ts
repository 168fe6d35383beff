// The rate-limit policy: limits the number of requests per client or per route in a time window. A rejected request
// starts no execution.

import { type Static, Type } from '#lib/json/json-schema.ts';
import type { Config } from '#lib/config/schema.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import { callerOf } from '../../gateway/plugin-api/client-address.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import { Problem } from '#lib/problem/problem.ts';
import { subjectParameter, keyOf, limitProblems, limitsUnavailable } from './caller.ts';
import { SheddingCounts } from './shedding-counts.ts';
import type { DelayRejection } from './rejection-delay.ts';
import type { RateLimitResult, RateLimitWindow, RateLimitStore } from './store/rate-limit-store.ts';

const parameters = Type.Object(
  {
    requests: Type.Integer({ minimum: 1, description: 'requests in one window' }),
    // A window of more than 2^31 - 1 ms would overflow Node's timers, which then fire at once.
    perSeconds: Type.Integer({
      minimum: 1,
      maximum: 2_000_000,
      default: 1,
      description: 'length of the window, up to 23 days (seconds)',
    }),
    by: subjectParameter,
  },
  {
    additionalProperties: false,
    description:
      'Limits the number of requests in a time window, separately for each route and each step of its pipeline. A request above the limit gets 429 `too-many-requests` with `Retry-After`; responses have `RateLimit` and `RateLimit-Policy`. `client.<client>.requestsPerSecond` replaces the rate for one client. Place this policy after `bearer`; without `bearer`, each address counts as one client.',
    examples: [{ requests: 600, perSeconds: 60, by: 'route' }],
  },
);

type RateLimit = Static<typeof parameters>;

/** Name, parameters and OpenAPI description of the policy. */
export const rateLimitDeclaration = declarePolicy({
  name: 'rate-limit',
  schema: parameters,
  limits: ({ requests, perSeconds: windowSeconds = 1, by = 'client' }) => ({
    rates: [{ by, requests, windowSeconds }],
  }),
  describe: () => ({
    operation: () => ({
      problems: limitProblems,
      headers: { RateLimit: headerRef('RateLimit'), 'RateLimit-Policy': headerRef('RateLimitPolicy') },
      problemHeaders: {
        RateLimit: headerRef('RateLimitOptional'),
        'RateLimit-Policy': headerRef('RateLimitPolicyOptional'),
      },
    }),
  }),
});

/**
 * Creates the policy. Requests are counted by OAuth client (the policy runs after `bearer`), by address for requests
 * without a client (IPv6: by /64 network), or by route. Each route and each step has its own counters.
 * `client.<client id>.requestsPerSecond` replaces `requests` for that client. Every response to a counted request has
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10).
 * @throws Problem `too-many-requests` (429) with `Retry-After` in whole seconds (RFC 9110 section 10.2.3);
 *   `limits-unavailable` (503) when Redis is unavailable and `limits.whenRedisIsAway` is `refuse`
 */
export function createRateLimitPolicy(config: Config, store: RateLimitStore, delayRejection: DelayRejection): Policy {
  return definePolicy(rateLimitDeclaration, {
    // Load shedding does not ask Redis for the exact count, because the request is rejected anyway. A local count
    // suffices to send requests above a client's rate into the pipeline, where their rejection is delayed.
    loadShedding(limit) {
      const windowOf = createWindowOf(config, limit);
      const counts = new SheddingCounts((limit.perSeconds ?? 1) * 1_000);
      return {
        check({ request, context: { clientId } }) {
          const caller = limit.by === 'route' ? 'all' : callerOf(request);
          return counts.count(caller, windowOf(clientId).requests) ? undefined : 'unsure';
        },
      };
    },
    create(limit, stepId) {
      const subject = limit.by ?? 'client';
      const windowOf = createWindowOf(config, limit);
      return async function limitRate(request, response, next) {
        const context = contextOf(request);
        const window = windowOf(context.clientId);
        const key = keyOf(context.route, subject === 'client' ? callerOf(request) : null);
        const result = await store.count(`${key}:${stepId}`, window).catch((error: unknown) => {
          throw error instanceof RedisUnavailable ? limitsUnavailable(error) : error;
        });
        const fields = fieldsOf(subject, window, result);
        response.appendHeader('ratelimit-policy', fields.policy);
        response.appendHeader('ratelimit', fields.state);
        if (!result.isAllowed) {
          await delayRejection(response);
          throw new Problem('too-many-requests', {
            detail: `At most ${window.requests} requests in ${window.seconds} s.`,
            headers: { 'retry-after': String(Math.max(1, secondsOf(result.endsInMs))) },
          });
        }
        next();
      };
    },
  });
}

/**
 * Creates a function that returns the window of a client, with the client's own rate if it has one, otherwise with the
 * rate of the policy.
 */
function createWindowOf(config: Config, { requests, perSeconds = 1, by: subject = 'client' }: RateLimit) {
  const shared: RateLimitWindow = { requests, seconds: perSeconds };
  return (clientId: string | undefined): RateLimitWindow => {
    const own = subject === 'client' ? config[`client.${clientId}.requestsPerSecond`] : undefined;
    return own === undefined ? shared : { requests: own * perSeconds, seconds: perSeconds };
  };
}

/**
 * Returns the values of `RateLimit-Policy` (name, quota, window in seconds) and `RateLimit` (name, remaining requests,
 * seconds until the reset).
 */
function fieldsOf(name: string, { requests, seconds }: RateLimitWindow, { left, endsInMs }: RateLimitResult) {
  return {
    policy: `"${name}";q=${requests};w=${seconds}`,
    state: `"${name}";r=${left};t=${secondsOf(endsInMs)}`,
  };
}

function secondsOf(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}
