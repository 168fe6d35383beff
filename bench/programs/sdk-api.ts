// The API that a user of Conductor would write: Express and the SDK, which starts the workflow and polls its status.

import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { orkesConductorClient, WorkflowExecutor } from '@io-orkes/conductor-javascript';
import express from 'express';
import { runProgram } from '#lib/process/run-program.ts';
import { listenOnLoopback } from '../../dev/loopback-server.ts';
import { type Ended, expectResponse, startRequest } from '../targets/execution.ts';
import { statusPauseMs } from '../targets/sdk.ts';
import { sdkWorkflow } from './definitions.ts';

const start = startRequest(sdkWorkflow);

await runProgram('sdk-api', async () => {
  const client = await orkesConductorClient({ serverUrl: `${process.env['CONDUCTOR_URL']}/api` });
  const executor = new WorkflowExecutor(client);
  const app = express();
  app.get('/movies/:title', (_request, response, next) => {
    executor
      .startWorkflow(start)
      .then((id) => untilEnded(executor, id))
      .then(({ output }) => response.json(output), next);
  });
  const server = createServer(app);
  server.keepAliveTimeout = 120_000;
  const { url, close } = await listenOnLoopback(server);
  return { ready: { url }, stop: close };
});

/** @throws Error when the execution failed */
async function untilEnded(executor: WorkflowExecutor, id: string): Promise<Ended> {
  for (;;) {
    await delay(statusPauseMs);
    const ended = (await executor.getWorkflowStatus(id, true, false)) as Ended;
    if (ended.status === 'RUNNING') continue;
    expectResponse(ended);
    return ended;
  }
}
