// Puts together what the policies for clients share: their answers, one start a key, and what goes on behind a 202.

import { responseHeaderFilter } from '../../../envelope/headers.ts';
import type { RouterServices } from '../../../gateway/contract.ts';
import { createPayloadCodec } from '../../../payload/payload-codec.ts';
import type { Parts } from '../executions.ts';
import { type Claims, LocalClaims } from '../idempotency/claims.ts';
import { Once } from '../idempotency/once.ts';
import { RedisClaims } from '../idempotency/redis-claims.ts';
import type { ServeParts } from '../serve-request.ts';
import { Deferred } from './deferred.ts';

/** How long a start whose outcome nobody knows keeps its key, besides what two calls to the engine may take. */
const unknownMs = 60_000;

export function createClientParts(
  services: RouterServices,
  parts: Parts & Pick<ServeParts, 'watch' | 'versions'>,
): ServeParts {
  const { config, metrics } = services;
  const codec = createPayloadCodec(config);
  const callMs = config['conductor.timeoutMs'];
  const claims = createClaims(services, unknownMs + 2 * callMs);
  return {
    ...parts,
    answers: {
      codec,
      maxBytes: config['router.maxAnswerBytes'],
      allows: responseHeaderFilter(config['router.responseHeaders']),
    },
    once: new Once({ claims, executions: parts.executions, codec, metrics, callMs }),
    deferred: new Deferred(parts, metrics),
  };
}

/** Where routers share an engine, `redis.url` tells them of each other. */
function createClaims({ config, log, onStop, addReadinessNotice }: RouterServices, ttlMs: number): Claims {
  const url = config['redis.url'];
  if (url === undefined) return new LocalClaims(ttlMs);
  const claims = new RedisClaims({ url, ttlMs, log });
  claims.start();
  addReadinessNotice('idempotency', () =>
    claims.isAway ? ['redis is away: requests with an Idempotency-Key are refused'] : [],
  );
  onStop('idempotency', () => claims.stop());
  return claims;
}
