// Runs the CLI's definition commands on the shared engine, limited to definitions that no other test uses.

import { existsSync, readFileSync } from 'node:fs';
import { Engine } from '#lib/conductor/engine.ts';
import { applyPlan } from '#lib/conductor/metadata/apply.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { planChanges } from '#lib/conductor/metadata/plan.ts';
import { runCli, startCli } from '../cli/run-cli.ts';
import { definitionsFor } from '../lib/conductor/definitions/copy-of-product.ts';
import { engineApi } from '../stack/engine-api.ts';
import type { RandomDefinitions } from './random-definitions.ts';

export function definitionsOn(engineUrl: string, { dir, suffix }: RandomDefinitions) {
  const scope = ['--dir', dir, '--only', `*${suffix}*`];
  const { get, send, execution } = engineApi(engineUrl);
  return {
    /** Brings the engine in line with the files, without the CLI, as the initial state of a test. */
    async prepare() {
      const engine = new Engine({ url: engineUrl, timeoutMs: 10_000, connections: 2 });
      const api = new MetadataApi((request) => engine.request(request));
      const repository = definitionsFor(['002'], dir);
      const concerns = (name: string) => name.includes(suffix);
      const replan = async () => planChanges(repository, await api.readDefinitions(), { prune: false, concerns });
      const { outcome } = await applyPlan(await replan(), {
        ...{ api, replan, onStep: () => undefined },
        signal: new AbortController().signal,
      });
      await engine.close();
      if (outcome !== 'done') throw new Error(`the definitions were not registered: ${outcome}`);
    },
    /** Runs a command on these definitions; `--engine` in the options replaces the address of the engine. */
    run: (command: string, ...options: string[]) => runCli([command, '--engine', engineUrl, ...scope, ...options]),
    /** Starts a command as a process that can be killed; `url` replaces the address of the engine. */
    start: (command: string, options: string[], url = engineUrl) =>
      startCli([command, '--engine', url, ...scope, ...options]),
    /**
     * Returns the names of the definitions in the engine, sorted and without their random part (for example `workflow
     * moviesWF v1`).
     */
    async registered() {
      const namesAt = async (path: string) =>
        (await get<{ name: string; version?: number }[]>(path))
          .filter(({ name }) => name.includes(suffix))
          .map(({ name, version }) => ({ name: name.replace(suffix, ''), version }));
      const [taskTypes, workflows, handlers] = await Promise.all([
        namesAt('/metadata/taskdefs'),
        namesAt('/metadata/workflow'),
        namesAt('/event'),
      ]);
      return [
        ...taskTypes.map(({ name }) => `task type ${name}`),
        ...workflows.map(({ name, version }) => `workflow ${name} v${version}`),
        ...handlers.map(({ name }) => `event handler ${name}`),
      ].toSorted();
    },
    /** Starts an execution and returns its id. */
    async startExecution(name: string, version: number, taskToDomain: Record<string, string> = {}) {
      const input = { inbound: { httpMethod: 'GET' } };
      return (await send('POST', '/workflow', { name, version, input, taskToDomain })).text;
    },
    /** Completes the next task of a type, as a worker does; returns the id of its execution. */
    async completeTask(taskType: string) {
      const poll = `/tasks/poll/batch/${taskType}?count=1&timeout=2000&workerid=test`;
      const [task] = await get<{ taskId: string; workflowInstanceId: string }[]>(poll);
      if (task === undefined) throw new Error(`no task of the type ${taskType} is waiting`);
      const { taskId, workflowInstanceId } = task;
      const outputData = { outbound: { statusCodeValue: 200 } };
      await send('POST', '/tasks', { taskId, workflowInstanceId, status: 'COMPLETED', outputData });
      return workflowInstanceId;
    },
    /** Returns the status of an execution. */
    statusOf: async (id: string) => (await execution(id)).status,
    /** Sends a call directly to the engine, to change it without the CLI. */
    send,
  };
}

export type DefinitionsOnEngine = ReturnType<typeof definitionsOn>;

/** Returns a definition from the copy as an object, with the members of `change` added or replaced. */
export function definitionIn({ dir }: RandomDefinitions, file: string, change: object = {}): Record<string, unknown> {
  const path = `${dir}/${file}`;
  if (!existsSync(path)) throw new Error(`there is no ${file}`);
  return { ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change };
}
