// The contract plugin: what clients can read about the router (policies `openapi`, `docs`, `problem-pages`).

import type { PluginContext } from '../../gateway/contract.ts';
import { createDocsFiles, createDocsPolicy } from './docs-page.ts';
import { createOpenApiPolicy } from './openapi.ts';
import { createProblemPages, createProblemPagesPolicy } from './problems.ts';

export const version = '1.0.0';
export const policies = ['openapi', 'docs', 'problem-pages'] as const;

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  registerPolicy(createOpenApiPolicy(services));
  const files = services.keep('files of the docs page', [], createDocsFiles);
  registerPolicy(createDocsPolicy(services.config, files));
  registerPolicy(createProblemPagesPolicy(services.keep('problem pages', [], createProblemPages)));
}
