// The in-flight policy: so many requests at a time, of one client or on a whole route; more are refused before anything is started.

import { Type } from 'typebox';
import type { Config } from '#lib/config/schema.ts';
import { callerOf } from '../../gateway/plugin-api/client-address.ts';
import { contextOf, declarePolicy, definePolicy, type Policy } from '../../gateway/plugin-api/plugin-api.ts';
import { RedisUnavailable } from '#lib/redis/redis.ts';
import { Problem } from '#lib/problem/problem.ts';
import { by, keyOf, limitProblems, limitsUnavailable } from './caller.ts';
import type { HoldRefusal } from './hold-refusals.ts';
import type { ConcurrencyStore } from './store/concurrency-store.ts';

const parameters = Type.Object(
  {
    requests: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'requests at a time; without it only clients with a limit of their own have one',
      }),
    ),
    by,
  },
  { additionalProperties: false },
);

export const inFlightDeclaration = declarePolicy({
  name: 'in-flight',
  schema: parameters,
  describe: () => ({ operation: () => ({ problems: limitProblems }) }),
});

/**
 * Counts by OAuth client (stands behind `bearer`), without one by address, or by route. A client's places are those of
 * all routes together. `client.<client id>.maxInFlight` takes the place of `requests` for that client.
 * @throws Problem `too-many-requests` (429) with `Retry-After`; `limits-unavailable` (503) when Redis is away and
 *   configuration says to refuse
 */
export function createInFlightPolicy(config: Config, places: ConcurrencyStore, hold: HoldRefusal): Policy {
  return definePolicy(inFlightDeclaration, {
    // What is refused takes no place.
    early: () => ({ look: () => undefined }),
    create({ requests, by: subject = 'client' }) {
      const mostOf = (clientId: string | undefined) =>
        (subject === 'client' ? config[`client.${clientId}.maxInFlight`] : undefined) ?? requests;
      return async function limitInFlight(request, response, next) {
        const { clientId, route } = contextOf(request);
        const most = mostOf(clientId);
        if (most === undefined) return next();
        const key = subject === 'client' ? keyOf('', callerOf(request)) : keyOf(route, null);
        const leave = await places.take(key, most).catch((error: unknown) => {
          throw error instanceof RedisUnavailable ? limitsUnavailable(error) : error;
        });
        if (leave === null) {
          await hold(response);
          throw new Problem('too-many-requests', {
            detail: `At most ${most} requests at a time.`,
            headers: { 'retry-after': '1' },
          });
        }
        if (response.destroyed) return leave();
        response.once('close', leave);
        next();
      };
    },
  });
}
