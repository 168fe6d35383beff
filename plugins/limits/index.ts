// The limits plugin: policies `rate-limit`, `in-flight` and `mis-codes`.

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { createRejectionDelay } from './rejection-delay.ts';
import { createInFlightPolicy, inFlightDeclaration } from './in-flight.ts';
import { createMisCodesPolicy, misCodesDeclaration } from './mis-codes.ts';
import { createRateLimitPolicy, rateLimitDeclaration } from './rate-limit.ts';
import { createStores, leaseMs } from './store/create-stores.ts';

/** Version of the policies' names and parameters. */
export const version = '1.2.0';
/** Policies that the plugin registers. */
export const policies = [rateLimitDeclaration, inFlightDeclaration, misCodesDeclaration];

/** Registers the policies. Their counters survive a change of configuration. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config } = services;
  // Counters are kept when another configuration becomes active, unless it changes one of these values.
  const store = config['limits.store'];
  const lease = leaseMs(config, services.routes);
  const redisKeys = [config['limits.whenRedisIsAway'], lease];
  const identity = store === 'redis' ? [store, ...redisKeys] : [store];
  const { rateLimits, concurrency } = services.share('limits', identity, (shared) =>
    createStores({ ...shared, config }, lease),
  );
  const delayRejection = createRejectionDelay(config['limits.rejectionDelayMs']);
  registerPolicy(createRateLimitPolicy(config, rateLimits, delayRejection));
  registerPolicy(createInFlightPolicy(config, concurrency, delayRejection));
  registerPolicy(createMisCodesPolicy(config));
}
