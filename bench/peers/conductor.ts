// Conductor without the router: its own synchronous endpoint, and Express with the SDK. The worker has the SDK's
// defaults.

import { engineRelease } from '../../dev/engine/release.ts';
import { sdkWorkflow } from '../programs/definitions.ts';
import { startBenchEngine } from '../programs/engine.ts';
import { startProgram } from '../programs/program.ts';
import type { Run } from '../run.ts';
import { startBody } from '../targets/execution.ts';
import { movieCall, type Peer } from './peer.ts';

const durability = 'start, step, result: file, no fsync';
const engine = `Conductor ${engineRelease.version} on SQLite`;

/** `POST /api/workflow/execute/{name}/{version}` with its default wait. @param javaOptions JVM options of the engine */
export function conductorExecute(javaOptions: readonly string[]): Peer {
  return {
    name: 'conductor-execute',
    title: "Conductor's execute",
    setup: `${engine}, a worker with the SDK's defaults`,
    ...{ durability, isSynced: false },
    async start(run, { backEndUrl }) {
      const { url, pids, startOne } = await startConductor(run, javaOptions, backEndUrl);
      const worker = await startOne('sdk-worker');
      const path = `/api/workflow/execute/${sdkWorkflow.workflow}/1`;
      return { url, call: { method: 'POST', path, body: startBody(sdkWorkflow) }, pids: [...pids, worker.pid] };
    },
  };
}

/** Express with the SDK, which polls the status of the execution. @param javaOptions JVM options of the engine */
export function conductorSdk(javaOptions: readonly string[]): Peer {
  return {
    name: 'conductor-sdk',
    title: "Conductor SDK's defaults",
    setup: `${engine}, an Express process that starts the workflow and asks for its status every 20 ms, a worker with the SDK's defaults`,
    ...{ durability, isSynced: false },
    async start(run, { backEndUrl }) {
      const { pids, startOne } = await startConductor(run, javaOptions, backEndUrl);
      const worker = await startOne('sdk-worker');
      const api = await startOne('sdk-api');
      return { url: String(api.ready['url']), call: movieCall, pids: [...pids, worker.pid, api.pid] };
    },
  };
}

async function startConductor(run: Run, javaOptions: readonly string[], backEndUrl: string) {
  const { stateDir } = run;
  const { url, pids } = await startBenchEngine(run, { store: 'sqlite', javaOptions, properties: undefined });
  const env = { CONDUCTOR_URL: url, MOVIES_URL: backEndUrl, STATE_DIR: stateDir };
  const startOne = async (name: 'sdk-worker' | 'sdk-api') => {
    const program = await startProgram({ name, entry: `bench/programs/${name}.ts`, env, stateDir });
    run.onEnd(() => program.stop());
    return program;
  };
  return { url, pids, startOne };
}
