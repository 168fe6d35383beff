// The CLI's definition commands on the shared engine, looking only at definitions that no other test knows.

import { existsSync, readFileSync } from 'node:fs';
import { Engine } from '#lib/conductor/engine.ts';
import { applyPlan } from '#lib/conductor/metadata/apply.ts';
import { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import { planChanges } from '#lib/conductor/metadata/plan.ts';
import { type CliResult, runCli, startCli, type StartedCli } from '../cli/run-cli.ts';
import { definitionsFor } from '../lib/conductor/definitions/copy-of-product.ts';
import { call } from '../stack/client.ts';
import type { RandomDefinitions } from './random-definitions.ts';

export interface DefinitionsOnEngine {
  /** Brings the engine in step with the files, without the CLI: where a test begins. */
  prepare(): Promise<void>;
  /** Runs a command on these definitions; `--engine` among the options is another way to the engine. */
  run(command: string, ...options: string[]): Promise<CliResult>;
  /** Starts it as a process that can be killed, on another way to the engine if need be. */
  start(command: string, options: string[], url?: string): StartedCli;
  /** Which of them the engine has: `workflow moviesWF1a2b v1` without the random part, in the order of the engine. */
  registered(): Promise<string[]>;
  /** Starts an execution and returns its id. */
  startExecution(name: string, version: number, taskToDomain?: Record<string, string>): Promise<string>;
  /** Works on the next task of a type, as a worker does; returns the execution it belonged to. */
  completeTask(taskType: string): Promise<string>;
  /** Status of an execution. */
  statusOf(executionId: string): Promise<string>;
  /** Changes something in the engine behind the CLI's back. */
  send(method: string, path: string, body?: unknown): Promise<void>;
}

export function definitionsOn(engineUrl: string, { dir, suffix }: RandomDefinitions): DefinitionsOnEngine {
  const scope = ['--dir', dir, '--only', `*${suffix}*`];
  const get = async <T>(path: string) => (await call(`${engineUrl}${path}`)).json<T>();
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await call(`${engineUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  return {
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
    run: (command, ...options) => runCli([command, '--engine', engineUrl, ...scope, ...options]),
    start: (command, options, url = engineUrl) => startCli([command, '--engine', url, ...scope, ...options]),
    async registered() {
      interface Named {
        name: string;
        version?: number;
      }
      const named = async (path: string, kind: string) =>
        (await get<Named[]>(path))
          .filter(({ name }) => name.includes(suffix))
          .map(({ name, version }) => {
            const title = `${kind} ${name.replace(suffix, '')}`;
            return kind === 'workflow' ? `${title} v${version}` : title;
          });
      const kinds = [
        named('/api/metadata/taskdefs', 'task type'),
        named('/api/metadata/workflow', 'workflow'),
        named('/api/event', 'event handler'),
      ];
      return (await Promise.all(kinds)).flat().toSorted();
    },
    async startExecution(name, version, taskToDomain = {}) {
      const input = { inbound: { httpMethod: 'GET' } };
      return (await send('POST', '/api/workflow', { name, version, input, taskToDomain })).text;
    },
    async completeTask(taskType) {
      const poll = `/api/tasks/poll/batch/${taskType}?count=1&timeout=2000&workerid=test`;
      const [task] = await get<{ taskId: string; workflowInstanceId: string }[]>(poll);
      if (task === undefined) throw new Error(`no task of ${taskType} waits`);
      const { taskId, workflowInstanceId } = task;
      const outputData = { outbound: { statusCodeValue: 200 } };
      await send('POST', '/api/tasks', { taskId, workflowInstanceId, status: 'COMPLETED', outputData });
      return workflowInstanceId;
    },
    statusOf: async (id) => (await get<{ status: string }>(`/api/workflow/${id}?includeTasks=false`)).status,
    send: async (method, path, body) => void (await send(method, path, body)),
  };
}

/** A definition of the copy as an object, with something changed. */
export function definitionIn({ dir }: RandomDefinitions, file: string, change: object = {}): Record<string, unknown> {
  const path = `${dir}/${file}`;
  if (!existsSync(path)) throw new Error(`there is no ${file}`);
  return { ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change };
}
