// What every file of the suite ends with: files share a process, an engine and its stack, and one that failed may have left
// programs and executions running.

import { afterAll } from 'vitest';
import { call } from '../stack/client.ts';
import { killLeftovers } from '../stack/stack-part.ts';
import { engineOfRun } from './engine-of-run.ts';

afterAll(async () => {
  await killLeftovers();
  // A given engine may have executions of other users.
  if (process.env['CONDUCTOR_URL'] === undefined) await terminateExecutions(engineOfRun().url);
});

async function terminateExecutions(engineUrl: string): Promise<void> {
  const query = encodeURIComponent('status IN (RUNNING,PAUSED)');
  const { results } = (await call(`${engineUrl}/api/workflow/search?query=${query}&size=500`)).json<{
    results: { workflowId: string }[];
  }>();
  for (const { workflowId } of results)
    await call(`${engineUrl}/api/workflow/${workflowId}?reason=end-of-file`, { method: 'DELETE' });
}
