// Shortens the response timeouts of registered task definitions for a case that has to outlast them.

import { engineApi } from '../stack/engine-api.ts';

interface TaskDefinition {
  readonly name: string;
  readonly responseTimeoutSeconds: number;
}

/**
 * Multiplies the response timeouts of all task definitions of the engine at `url`, rounded up to whole seconds. Returns
 * a function that restores them.
 */
export async function scaleResponseTimeouts(url: string, factor: number): Promise<() => Promise<void>> {
  const { get, send } = engineApi(url);
  const replace = (definition: TaskDefinition) => send('PUT', '/metadata/taskdefs', definition);
  const definitions = await get<TaskDefinition[]>('/metadata/taskdefs');
  const scaled = definitions.map(({ responseTimeoutSeconds, ...definition }) => ({
    ...definition,
    responseTimeoutSeconds: Math.ceil(responseTimeoutSeconds * factor),
  }));
  for (const definition of scaled) await replace(definition);
  return async () => {
    for (const definition of definitions) await replace(definition);
  };
}
