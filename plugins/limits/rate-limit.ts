// The rate-limit policy: so many requests in a window, of one client or of a whole route; more are refused before anything is started.

import { type Static, Type } from 'typebox';
import type { Config } from '#lib/config/schema.ts';
import { headerRef } from '#lib/openapi/headers.ts';
import { callerOf } from '../../gateway/plugin-api/client-address.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { RedisUnavailable } from '#lib/redis/redis.ts';
import { Problem } from '#lib/problem/problem.ts';
import { by, keyOf, limitProblems, limitsUnavailable } from './caller.ts';
import { EarlyCounts } from './shedding-counts.ts';
import type { HoldRefusal } from './hold-refusals.ts';
import type { Counted, Window, RateLimitStore } from './store/rate-limit-store.ts';

const parameters = Type.Object(
  {
    requests: Type.Integer({ minimum: 1, description: 'requests in a window' }),
    perSeconds: Type.Integer({ minimum: 1, default: 1, description: 'length of the window in seconds' }),
    by,
  },
  { additionalProperties: false },
);

type RateLimit = Static<typeof parameters>;

export const rateLimitDeclaration = declarePolicy({
  name: 'rate-limit',
  schema: parameters,
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
 * Counts by OAuth client (stands behind `bearer`), without one by address (an IPv6 caller by its /64), or by route.
 * The count is kept apart for each route. `client.<client id>.requestsPerSecond` takes the place of `requests` for
 * that client. Every answer says what is left: `RateLimit` and `RateLimit-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-10).
 * @throws Problem `too-many-requests` (429) with `Retry-After` in whole seconds (RFC 9110 section 10.2.3);
 *   `limits-unavailable` (503) when Redis is away and configuration says to refuse
 */
export function createRateLimitPolicy(config: Config, windows: RateLimitStore, hold: HoldRefusal): Policy {
  return definePolicy(rateLimitDeclaration, {
    // Its real count may be in Redis, and is not asked for a request that is refused anyway. But a client that sends more
    // than its rate comes here, and is held up.
    early(limit) {
      const windowOf = createWindowOf(config, limit);
      const counts = new EarlyCounts((limit.perSeconds ?? 1) * 1_000);
      return {
        look({ request, context: { clientId } }) {
          const whose = limit.by === 'route' ? 'all' : callerOf(request);
          return counts.count(whose, windowOf(clientId).requests) ? undefined : 'unsure';
        },
      };
    },
    create(limit) {
      const subject = limit.by ?? 'client';
      const windowOf = createWindowOf(config, limit);
      return async function limitRate(request, response, next) {
        const context = contextOf(request);
        const window = windowOf(context.clientId);
        const key = keyOf(context.route, subject === 'client' ? callerOf(request) : null);
        const counted = await windows.count(key, window).catch((error: unknown) => {
          throw error instanceof RedisUnavailable ? limitsUnavailable(error) : error;
        });
        const fields = fieldsOf(subject, window, counted);
        response.appendHeader('ratelimit-policy', fields.policy);
        response.appendHeader('ratelimit', fields.state);
        if (!counted.isAllowed) {
          await hold(response);
          throw new Problem('too-many-requests', {
            detail: `At most ${window.requests} requests in ${window.seconds} s.`,
            headers: { 'retry-after': String(Math.max(1, secondsOf(counted.endsInMs))) },
          });
        }
        next();
      };
    },
  });
}

/** The window of a client: its own rate, or that of the policy's place. */
function createWindowOf(config: Config, { requests, perSeconds = 1, by: subject = 'client' }: RateLimit) {
  const usual: Window = { requests, seconds: perSeconds };
  return (clientId: string | undefined): Window => {
    const own = subject === 'client' ? config[`client.${clientId}.requestsPerSecond`] : undefined;
    return own === undefined ? usual : { requests: own * perSeconds, seconds: perSeconds };
  };
}

/** The items of the two lists: the policy's name, its quota and window in seconds; what remains, and for how long. */
function fieldsOf(name: string, { requests, seconds }: Window, { left, endsInMs }: Counted) {
  return {
    policy: `"${name}";q=${requests};w=${seconds}`,
    state: `"${name}";r=${left};t=${secondsOf(endsInMs)}`,
  };
}

function secondsOf(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}
