// The limits plugin: `rate-limit` keeps one client from taking what belongs to all, `mis-codes` from other colleges.

import type { PluginContext } from '../../gateway/contract.ts';
import { createMisCodesPolicy } from './mis-codes.ts';
import { rateLimitPolicy } from './rate-limit.ts';

export const version = '1.1.0';
export const policies = ['rate-limit', 'mis-codes'] as const;

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  registerPolicy(rateLimitPolicy);
  registerPolicy(createMisCodesPolicy(services.config));
}
