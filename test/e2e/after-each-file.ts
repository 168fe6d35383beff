// Cleans up after every test file: the files share a process, an engine and a stack, and a failed file may leave
// programs and executions running.

import { afterAll } from 'vitest';
import { engineApi } from '../stack/engine-api.ts';
import { killLeftovers } from '../stack/stack-part.ts';
import { engineOfRun } from './engine-of-run.ts';

afterAll(async () => {
  await killLeftovers();
  // An engine that CONDUCTOR_URL names may have executions of other users.
  if (process.env['CONDUCTOR_URL'] === undefined) await terminateExecutions(engineOfRun().url);
});

async function terminateExecutions(engineUrl: string): Promise<void> {
  const { get, send } = engineApi(engineUrl);
  const query = encodeURIComponent('status IN (RUNNING,PAUSED)');
  const { results } = await get<{ results: { workflowId: string }[] }>(`/workflow/search?query=${query}&size=500`);
  for (const { workflowId } of results)
    // The engine refuses to terminate an execution that has ended in the meantime.
    await send('DELETE', `/workflow/${workflowId}?reason=end-of-file`).catch(() => undefined);
}
