// Targets for the two usual alternatives to the router: polling the status of an execution, and the engine's
// synchronous endpoint. Both use a worker with the SDK's defaults.

import { setTimeout as delay } from 'node:timers/promises';
import { sdkWorkflow } from '../programs/definitions.ts';
import { type RunningProgram, startProgram } from '../programs/program.ts';
import { type Ended, expectResponse, startBody, statusPath } from './execution.ts';
import type { HttpClient } from './http-client.ts';
import type { Target } from './target.ts';

export interface SdkTargetOptions {
  readonly engine: HttpClient;
  readonly engineUrl: string;
  readonly backEndUrl: string;
  readonly stateDir: string;
}

/** Pause between two polls of the status, in milliseconds. */
export const statusPauseMs = 20;
const start = { method: 'POST', path: '/api/workflow', body: startBody(sdkWorkflow) } as const;
const execute = { method: 'POST', path: `/api/workflow/execute/${sdkWorkflow.workflow}/1`, body: start.body } as const;

/** Returns the target that starts an execution and reads its status every 20 ms. */
export function createSdkDefault(options: SdkTargetOptions): Target {
  const described = { name: 'sdk-default', text: `SDK defaults, status polled every ${statusPauseMs} ms` };
  return createSdkTarget(described, options, async ({ engine }) => {
    const executionId = await engine.text(start);
    let ended: Ended;
    do {
      await delay(statusPauseMs);
      ended = await engine.json<Ended>({ path: statusPath(executionId) });
    } while (ended.status === 'RUNNING');
    expectResponse(ended);
  });
}

/** Returns the target that calls `POST /api/workflow/execute/{name}/{version}` with its default wait. */
export function createExecute(options: SdkTargetOptions): Target {
  const described = { name: 'execute', text: "the engine's synchronous endpoint" };
  return createSdkTarget(described, options, async ({ engine }) => {
    expectResponse(await engine.json<Ended>(execute));
  });
}

/** The worker polls ten times a second even when it is idle, so it runs only while its target is measured. */
function createSdkTarget(
  described: Pick<Target, 'name' | 'text'>,
  options: SdkTargetOptions,
  request: (options: SdkTargetOptions) => Promise<void>,
): Target {
  const { engineUrl, backEndUrl, stateDir } = options;
  const env = { CONDUCTOR_URL: engineUrl, MOVIES_URL: backEndUrl, STATE_DIR: stateDir };
  let worker: RunningProgram | undefined;
  return {
    ...described,
    usesEngine: true,
    async start() {
      worker = await startProgram({ name: 'sdk-worker', entry: 'bench/programs/sdk-worker.ts', env, stateDir });
    },
    async stop() {
      await worker?.stop();
    },
    pid: () => worker?.pid,
    request: () => request(options),
  };
}
