// Determines the task domains whose workers the stack starts, and the task types that these workers serve.

import { resolve } from 'node:path';
import { adaptorDomains } from '#lib/config/adaptor-domains.ts';
import { gatewayDir } from '#lib/config/folders.ts';
import type { Config } from '#lib/config/schema.ts';
import { forColleges } from '#lib/conductor/definitions/for-colleges.ts';
import { readDefinitions } from '#lib/conductor/definitions/load-definitions.ts';
import { type StartedWorkflow, workerQueues } from '#lib/conductor/definitions/worker-queues.ts';
import { readGatewayConfig } from '../../gateway/configuration/read-gateway-config.ts';
import { actionsOf } from '../../gateway/plugin-api/gateway-routes.ts';
import { backEndWorkers } from '../../workers/back-end_intake.ts';
import { findWorkers } from '../../workers/gateway-workers.ts';
import type { WorkerRegistry } from '../../workers/index.ts';

/** A task domain with workers in the stack. */
export interface StackDomain {
  readonly name: string;
  /** Task types that the workers serve; at least one. */
  readonly taskTypes: readonly string[];
}

/**
 * Returns the task domains of the colleges, except those in which the stack has no tasks to serve. In a domain, the
 * stack serves the task types whose workers run in every domain. It also serves the back ends' task types for which an
 * event handler, or a route with `domainOf`, queues tasks in this domain. Invalid files are ignored here, because the
 * router and the registration of the definitions report them.
 * @throws ConfigError when `workers/index.ts` of the gateway cannot be loaded
 */
export async function stackDomains(config: Config): Promise<StackDomain[]> {
  const names = new Set(Object.values(adaptorDomains(config)));
  if (names.size === 0) return [];
  const dir = gatewayDir();
  const definitions = forColleges(readDefinitions(dir), config);
  const workers: WorkerRegistry = { ...backEndWorkers(config), ...(await findWorkers(dir)) };
  const queues = workerQueues(definitions, startedWorkflows(config), config);
  const domains = [...names].map((name) => {
    const queued = queues.filter(({ domain }) => domain === name).map(({ taskType }) => taskType);
    const served = Object.entries(workers).filter(
      ([type, { pools, onlyNamedIn }]) =>
        pools.includes('domain') && (onlyNamedIn !== 'domain' || queued.includes(type)),
    );
    return { name, taskTypes: served.map(([type]) => type) };
  });
  return domains.filter(({ taskTypes }) => taskTypes.length > 0);
}

/** Returns the parameters of each step with the policy `workflow` in the gateway configuration. */
function startedWorkflows(config: Config): StartedWorkflow[] {
  const rootDir = gatewayDir();
  const { steps } = readGatewayConfig({ config, rootDir, file: resolve(rootDir, config['router.gatewayConfigFile']) });
  return actionsOf([...steps.values()].flat(), 'workflow');
}
