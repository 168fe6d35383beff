// The worker that a user of Conductor would write: the product's own worker function with the SDK's defaults,
// connected directly to the engine.

import { orkesConductorClient, TaskHandler } from '@io-orkes/conductor-javascript';
import { loadConfig } from '#lib/config/load.ts';
import type { Task } from '#lib/conductor/types.ts';
import { runProgram } from '#lib/process/run-program.ts';
import { createBackEndCaller } from '../../workers/back-end/call-back-end.ts';
import { createBackEndIntake } from '../../workers/back-end_intake.ts';
import type { TaskOutcome } from '../../workers/worker.ts';
import { sdkWorkflow } from './definitions.ts';

// With CI set, the SDK writes a line for every update.
delete process.env['CI'];

await runProgram('sdk-worker', async () => {
  const { config } = await loadConfig();
  const backEnds = createBackEndCaller({
    timeoutMs: config['workers.backEndTimeoutMs'],
    maxResponseBytes: config['router.maxResponseBytes'],
  });
  const { execute } = createBackEndIntake('movies', { config, callBackEnd: backEnds.call });
  const client = await orkesConductorClient({ serverUrl: `${config['conductor.url'][0]}/api` });
  const handler = new TaskHandler({
    client,
    scanForDecorated: false,
    workers: [{ taskDefName: sdkWorkflow.task, execute: (task) => execute(task as Task) as Promise<SdkOutcome> }],
  });
  await handler.startWorkers();
  return {
    ready: { taskType: sdkWorkflow.task },
    async stop() {
      await handler.stopWorkers();
      backEnds.close();
    },
  };
});

/** The part of {@link TaskOutcome} that the SDK's types accept as the result of `execute`. */
type SdkOutcome = Extract<TaskOutcome, { status: 'IN_PROGRESS' }>;
