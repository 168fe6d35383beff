// The contract plugin: what clients can read about the router (policies `openapi`, `docs`, `problem-pages`).

import type { PluginContext } from '../../gateway/contract.ts';
import { createDocsPolicy } from './docs-page.ts';
import { createOpenApiPolicy } from './openapi.ts';
import { problemPagesPolicy } from './problems.ts';

export const version = '1.0.0';
export const policies = ['openapi', 'docs', 'problem-pages'] as const;

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  registerPolicy(createOpenApiPolicy(services));
  registerPolicy(createDocsPolicy(services.config));
  registerPolicy(problemPagesPolicy);
}
