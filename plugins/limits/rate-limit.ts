// The rate-limit policy: so many requests a client in a window; more are refused with 429 before anything is started.

import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { Type } from 'typebox';
import { contextOf, definePolicy } from '../../gateway/contract.ts';
import { networkOf } from '../../gateway/client-address.ts';
import { Problem } from '../../problem/problem.ts';

const parameters = Type.Object(
  {
    requests: Type.Integer({ minimum: 1, description: 'requests a client may make in a window' }),
    perSeconds: Type.Integer({ minimum: 1, default: 1, description: 'length of the window in seconds' }),
  },
  { additionalProperties: false },
);

/**
 * Counts by OAuth client (stands behind `bearer`), else by address (an IPv6 caller by its /64); in this process only. The count is kept apart
 * for each place the policy stands at, so that one route cannot use up another's.
 * @throws Problem `too-many-requests` (429) with `Retry-After` in whole seconds (RFC 9110 section 10.2.3)
 */
export const rateLimitPolicy = definePolicy({
  name: 'rate-limit',
  schema: parameters,
  create({ requests, perSeconds = 1 }) {
    const limiter = new RateLimiterMemory({ points: requests, duration: perSeconds });
    return async function limitRate(request, _response, next) {
      const caller = contextOf(request).clientId ?? networkOf(request.socket.remoteAddress ?? '');
      try {
        await limiter.consume(caller);
      } catch (refusal) {
        const retryAfter = Math.max(1, Math.ceil((refusal as RateLimiterRes).msBeforeNext / 1000));
        throw new Problem('too-many-requests', {
          detail: `At most ${requests} requests in ${perSeconds} s.`,
          headers: { 'retry-after': String(retryAfter) },
        });
      }
      next();
    };
  },
});
