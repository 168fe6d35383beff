// Lists the workflows that an engine may have executions of.

import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { RouteWorkflow } from './rules.ts';

/** Returns the names of the registered workflows and of the workflows of the routes. */
export async function workflowNames(api: MetadataApi, routes: readonly RouteWorkflow[]): Promise<string[]> {
  const { workflows } = await api.readDefinitions();
  return [...new Set([...workflows.map(({ name }) => name), ...routes.map(({ workflow }) => workflow)])];
}
