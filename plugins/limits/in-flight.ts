// The in-flight policy: limits the number of concurrent requests per client or per route. A rejected request starts no
// execution.

import { Type } from '#lib/json/json-schema.ts';
import type { Config } from '#lib/config/schema.ts';
import { callerOf } from '../../gateway/plugin-api/client-address.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { RedisUnavailable } from '#lib/redis/redis-unavailable.ts';
import { Problem } from '#lib/problem/problem.ts';
import { subjectParameter, keyOf, limitProblems, limitsUnavailable } from './caller.ts';
import type { DelayRejection } from './rejection-delay.ts';
import type { ConcurrencyStore } from './store/concurrency-store.ts';

const parameters = Type.Object(
  {
    requests: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'maximum number of concurrent requests; when absent, only clients with `client.<client>.maxInFlight` have a limit',
      }),
    ),
    by: subjectParameter,
  },
  {
    additionalProperties: false,
    description:
      'Limits concurrent requests. A request above the limit gets 429 `too-many-requests`. The limit of a client covers all its routes together; `client.<client>.maxInFlight` replaces it for one client. Place this policy after `bearer`; without `bearer`, each address counts as one client.',
    examples: [{ requests: 50, by: 'client' }],
  },
);

/** Name, parameters and OpenAPI description of the policy. */
export const inFlightDeclaration = declarePolicy({
  name: 'in-flight',
  schema: parameters,
  limits: ({ requests, by = 'client' }) => (requests === undefined ? {} : { inFlight: [{ by, requests }] }),
  describe: () => ({ operation: () => ({ problems: limitProblems }) }),
});

/**
 * Creates the policy. Requests are counted by OAuth client (the policy runs after `bearer`), by address for requests
 * without a client, or by route. A client's limit covers all its routes together. `client.<client id>.maxInFlight`
 * replaces `requests` for that client.
 * @throws Problem `too-many-requests` (429) with `Retry-After`; `limits-unavailable` (503) when Redis is unavailable
 *   and `limits.whenRedisIsAway` is `refuse`
 */
export function createInFlightPolicy(config: Config, store: ConcurrencyStore, delayRejection: DelayRejection): Policy {
  return definePolicy(inFlightDeclaration, {
    // Load shedding happens before a permit is acquired, so there is nothing to check.
    loadShedding: () => ({ check: () => undefined }),
    create({ requests, by: subject = 'client' }) {
      const limitOf = (clientId: string | undefined) =>
        (subject === 'client' ? config[`client.${clientId}.maxInFlight`] : undefined) ?? requests;
      return async function limitInFlight(request, response, next) {
        const { clientId, route } = contextOf(request);
        const limit = limitOf(clientId);
        if (limit === undefined) return next();
        const key = subject === 'client' ? keyOf('', callerOf(request)) : keyOf(route, null);
        const release = await store.acquire(key, limit).catch((error: unknown) => {
          throw error instanceof RedisUnavailable ? limitsUnavailable(error) : error;
        });
        if (release === null) {
          await delayRejection(response);
          throw new Problem('too-many-requests', {
            detail: `At most ${limit} requests at a time.`,
            headers: { 'retry-after': '1' },
          });
        }
        if (response.destroyed) return release();
        response.once('close', release);
        next();
      };
    },
  });
}
