// Response time-outs of registered tasks, made shorter for a case that has to outlast them.

import { call } from '../stack/client.ts';

interface TaskDefinition {
  readonly name: string;
  readonly responseTimeoutSeconds: number;
}

/** Multiplies those of all task definitions of the engine at `url`, in whole seconds; the function restores them. */
export async function scaleResponseTimeouts(url: string, factor: number): Promise<() => Promise<void>> {
  const definitions = (await call(`${url}/api/metadata/taskdefs`)).json<TaskDefinition[]>();
  const scaled = definitions.map(({ responseTimeoutSeconds, ...definition }) => ({
    ...definition,
    responseTimeoutSeconds: Math.ceil(responseTimeoutSeconds * factor),
  }));
  for (const definition of scaled) await replace(url, definition);
  return async () => {
    for (const definition of definitions) await replace(url, definition);
  };
}

async function replace(url: string, definition: TaskDefinition): Promise<void> {
  const answer = await call(`${url}/api/metadata/taskdefs`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(definition),
  });
  if (answer.status !== 200) throw new Error(`${definition.name}: ${answer.status} ${answer.text}`);
}
