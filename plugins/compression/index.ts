// The compression plugin: answers in br or gzip.

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { compressDeclaration, compressPolicy } from './compress.ts';

export const version = '1.0.0';
export const policies = [compressDeclaration];

/** Registers the policy. */
export function init({ registerPolicy }: PluginContext): void {
  registerPolicy(compressPolicy);
}
