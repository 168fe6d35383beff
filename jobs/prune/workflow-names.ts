// The workflows of which an engine may have executions.

import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { RouteWorkflow } from './rules.ts';

/** Those that are registered, and those of the routes. */
export async function workflowNames(api: MetadataApi, routes: readonly RouteWorkflow[]): Promise<string[]> {
  const { workflows } = await api.readDefinitions();
  return [...new Set([...workflows.map(({ name }) => name), ...routes.map(({ workflow }) => workflow)])];
}
