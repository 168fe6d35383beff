// The compression plugin: policy `compress`, for responses in br or gzip.

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { compressDeclaration, compressPolicy } from './compress.ts';

/** Version of the plugin's contract. */
export const version = '1.0.0';
/** Policies that the plugin registers. */
export const policies = [compressDeclaration];

/** Registers the policy. */
export function init({ registerPolicy }: PluginContext): void {
  registerPolicy(compressPolicy);
}
