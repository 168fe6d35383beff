// Determines the queues that need workers: the task types and domains of the tasks that routes and event handlers
// schedule.

import { collegeDomains } from '#lib/config/adaptor-domains.ts';
import type { Config } from '#lib/config/schema.ts';
import type { Definitions } from './load-definitions.ts';
import { intakeTask } from './mdm-workflows.ts';
import { taskTypesOf } from './workflow-tasks.ts';

/** A queue of the engine. */
export interface WorkerQueue {
  readonly taskType: string;
  /** Undefined for the default pool. */
  readonly domain: string | undefined;
  /** False when it is unknown whether workers serve the queue: a college need not have every plain back end. */
  readonly isExpected: boolean;
}

/** The parameters of the policy `workflow` that determine the queues of its tasks. */
export interface StartedWorkflow {
  readonly name?: unknown;
  /** Path parameter that selects the task domain of a college; undefined for the default pool. */
  readonly domainOf?: unknown;
}

/**
 * Returns the distinct queues in which a configuration schedules tasks. Every version of a workflow counts, because
 * executions of earlier versions may still run.
 * @param definitions the result of `forColleges`
 * @param started the workflows that routes start
 */
export function workerQueues(
  definitions: Pick<Definitions, 'workflows' | 'eventHandlers'>,
  started: readonly StartedWorkflow[],
  config: Config,
): WorkerQueue[] {
  const typesOf = (workflow: unknown) =>
    definitions.workflows.flatMap(({ definition }) => (definition.name === workflow ? taskTypesOf(definition) : []));
  const routed = started.flatMap(({ name, domainOf }) => {
    const domains = domainOf === undefined ? [undefined] : collegeDomains(config);
    const types = typesOf(name);
    const leadsToAdaptor = types.includes(intakeTask);
    return types.flatMap((taskType) =>
      domains.map((domain) => ({ taskType, domain, isExpected: leadsToAdaptor || domain === undefined })),
    );
  });
  const active = definitions.eventHandlers.filter(({ definition }) => definition.active);
  const handled = active
    .flatMap(({ definition }) => definition.actions)
    .flatMap(({ start_workflow: { name, taskToDomain } }) =>
      typesOf(name).flatMap((taskType) => queuesOf(taskType, taskToDomain[taskType] ?? taskToDomain['*'])),
    );
  // Expected queues come last, so that they replace equal queues that are not expected.
  const queues = [...routed, ...handled].toSorted((one, other) => Number(one.isExpected) - Number(other.isExpected));
  const distinct = new Map(queues.map((queue) => [`${queue.domain ?? ''}:${queue.taskType}`, queue]));
  return [...distinct.values()];
}

/**
 * Returns the queue of a task type in a domain of `taskToDomain`. Returns no queue for a list of domains: the engine
 * chooses a domain that workers poll, so no particular domain needs workers.
 */
function queuesOf(taskType: string, domain: string | undefined): WorkerQueue[] {
  if (domain?.includes(',') === true) return [];
  return [{ taskType, domain: domain?.toUpperCase() === 'NO_DOMAIN' ? undefined : domain, isExpected: true }];
}
