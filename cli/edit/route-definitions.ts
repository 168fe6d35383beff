// Generates the task definition and the workflow definition of a route to a plain back end.

import { taskTypeOfBackEnd } from '#lib/config/back-end-name.ts';
import type { Config } from '#lib/config/schema.ts';
import { type Definitions, fileOf } from '#lib/conductor/definitions/load-definitions.ts';
import type { TaskDefinition, WorkflowDefinition } from '#lib/conductor/definitions/schema.ts';

/** The values from which the definitions of a route are generated. */
export interface RouteDefinitionOptions {
  /** Name of the back end. */
  readonly name: string;
  /** True when the route accepts methods that change data. */
  readonly writes: boolean;
  readonly config: Config;
  /** The existing definitions; the new ones get the same owner. */
  readonly definitions: Definitions;
}

/** Time, in seconds, that `check` allows a worker for fetching the task and reporting the result. */
const workerMarginSeconds = 2;
/**
 * Response timeout of the task of a write, in seconds: longer than a restart of the engine, during which the task must
 * not time out.
 */
const writeSeconds = 90;

/** Returns the name of the workflow of a back end. */
export function workflowOfBackEnd(name: string): string {
  return `${name}WF`;
}

/** Returns the text of each definition file, by path below the gateway folder. */
export function routeDefinitions({ name, writes, config, definitions }: RouteDefinitionOptions): Map<string, string> {
  const ownerEmail = definitions.workflows[0]?.definition.ownerEmail ?? 'service-router@example.org';
  const readSeconds = Math.ceil(config['workers.backEndTimeoutMs'] / 1_000) + workerMarginSeconds;
  const task: TaskDefinition = {
    name: taskTypeOfBackEnd(name),
    description: writes
      ? `One request to the back end ${name}. It may be a write, so the engine never retries it, and its response timeout is longer than a restart of the engine.`
      : `One request to the back end ${name}. It is a read: the worker itself retries it.`,
    ownerEmail,
    retryCount: 0,
    retryLogic: 'FIXED',
    retryDelaySeconds: 0,
    responseTimeoutSeconds: writes ? Math.max(writeSeconds, readSeconds) : readSeconds,
    timeoutSeconds: 0,
    timeoutPolicy: 'TIME_OUT_WF',
  };
  const workflow: WorkflowDefinition = {
    name: workflowOfBackEnd(name),
    version: 1,
    description: `Passes one request to the back end ${name} and returns its response.`,
    ownerEmail,
    schemaVersion: 2,
    restartable: false,
    inputParameters: ['inbound'],
    tasks: [
      {
        name: task.name,
        taskReferenceName: task.name,
        type: 'SIMPLE',
        inputParameters: { inbound: '${workflow.input.inbound}' },
      },
    ],
    outputParameters: { outbound: `\${${task.name}.output.outbound}` },
  };
  return new Map([
    [fileOf('task type', task), toText(task)],
    [fileOf('workflow', workflow), toText(workflow)],
  ]);
}

/** Formats a definition as Prettier does: an array of one short string stays on one line. */
function toText(definition: object): string {
  return `${JSON.stringify(definition, null, 2).replace(/\[\n\s+("[^"\n]*")\n\s+\]/g, '[$1]')}\n`;
}
