// The limits plugin: `rate-limit` and `in-flight` keep one client from taking what belongs to all, `mis-codes` from other colleges.

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { createRefusalHold } from './hold-refusals.ts';
import { createInFlightPolicy, inFlightDeclaration } from './in-flight.ts';
import { createMisCodesPolicy, misCodesDeclaration } from './mis-codes.ts';
import { createRateLimitPolicy, rateLimitDeclaration } from './rate-limit.ts';
import { createStores, leaseMs } from './store/create-stores.ts';

export const version = '1.2.0';
export const policies = [rateLimitDeclaration, inFlightDeclaration, misCodesDeclaration];

/** Registers the policies; where they count outlives a configuration. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { config } = services;
  // Counts go on where they are when another configuration takes over.
  const store = config['limits.store'];
  const ofRedis = [config['limits.whenRedisIsAway'], leaseMs(config)];
  const from = store === 'redis' ? [store, ...ofRedis] : [store];
  const { windows, places } = services.share('limits', from, (kept) => createStores({ ...kept, config }));
  const hold = createRefusalHold(config['limits.refusalHoldMs']);
  registerPolicy(createRateLimitPolicy(config, windows, hold));
  registerPolicy(createInFlightPolicy(config, places, hold));
  registerPolicy(createMisCodesPolicy(config));
}
