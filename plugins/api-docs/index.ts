// The contract plugin: what clients can read about the router (policies `openapi`, `docs`, `problem-pages`).

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { createDocsFiles, createDocsPolicy, docsDeclaration } from './docs-page.ts';
import { createOpenApiPolicy, openApiDeclaration } from './openapi.ts';
import { createProblemPages, createProblemPagesPolicy, problemPagesDeclaration } from './problems.ts';

export const version = '1.0.0';
export const policies = [openApiDeclaration, docsDeclaration, problemPagesDeclaration];

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  registerPolicy(createOpenApiPolicy(services));
  const files = services.share('files of the docs page', [], createDocsFiles);
  registerPolicy(createDocsPolicy(services.config, files));
  registerPolicy(createProblemPagesPolicy(services.share('problem pages', [], createProblemPages)));
}
