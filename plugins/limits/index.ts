// The limits plugin: `rate-limit` and `in-flight` keep one client from taking what belongs to all, `mis-codes` from other colleges.

import type { PluginContext } from '../../gateway/contract.ts';
import { createRefusalHold } from './hold-refusals.ts';
import { createInFlightPolicy } from './in-flight.ts';
import { createMisCodesPolicy } from './mis-codes.ts';
import { createRateLimitPolicy } from './rate-limit.ts';
import { createStores } from './store/create-stores.ts';

export const version = '1.2.0';
export const policies = ['rate-limit', 'in-flight', 'mis-codes'] as const;

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  const { windows, places } = createStores(services);
  const hold = createRefusalHold(services.config['limits.refusalHoldMs']);
  registerPolicy(createRateLimitPolicy(services.config, windows, hold));
  registerPolicy(createInFlightPolicy(services.config, places, hold));
  registerPolicy(createMisCodesPolicy(services.config));
}
