// The api-docs plugin: policies `openapi`, `docs` and `problem-pages`.

import type { PluginContext } from '../../gateway/plugin-api/plugin-api.ts';
import { createDocsFiles, createDocsPolicy, docsDeclaration } from './docs-page.ts';
import { createOpenApiPolicy, openApiDeclaration } from './openapi.ts';
import { createProblemPages, createProblemPagesPolicy, problemPagesDeclaration } from './problems.ts';

/** Version of the policies' names and parameters. */
export const version = '1.0.0';
/** Policies that the plugin registers. */
export const policies = [openApiDeclaration, docsDeclaration, problemPagesDeclaration];

/** Registers the policies. */
export function init({ services, registerPolicy }: PluginContext): void {
  registerPolicy(createOpenApiPolicy(services));
  const files = services.share('files of the docs page', [], createDocsFiles);
  registerPolicy(createDocsPolicy(services.config, files));
  registerPolicy(createProblemPagesPolicy(services.share('problem pages', [], createProblemPages)));
}
