// Retention rules: which executions are deleted after what age.

import { endedStatuses, failedStatuses } from '#lib/conductor/executions/has-ended.ts';
import type { MetadataApi } from '#lib/conductor/metadata/metadata-api.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';

/** Selects executions for deletion. */
export interface PruneRule {
  /** Name for display: `completed`, `route movies`. */
  readonly name: string;
  /** Exact name of a workflow; all workflows when absent. */
  readonly workflow?: string;
  /** Only executions of this route; set when several routes share a workflow. */
  readonly route?: string;
  readonly statuses: readonly WorkflowStatus[];
  /** Time since the end above which an execution is deleted, in milliseconds. */
  readonly olderThanMs: number;
}

/** A route of the gateway configuration and the workflow that it starts. */
export interface RouteWorkflow {
  readonly name: string;
  readonly workflow: string;
}

const dayMs = 86_400_000;

/**
 * Returns the rules of the configuration. A route with its own rule (`prune.<route>.days`) is excluded from the general
 * rules, which are then split by workflow.
 * @param workflows every workflow that the engine may have executions of
 */
export function rulesOf(config: Config, routes: readonly RouteWorkflow[], workflows: readonly string[]): PruneRule[] {
  const routeRules = routes.flatMap((route) => {
    const days = config[`prune.${route.name}.days`];
    return days === undefined ? [] : [{ ...route, days }];
  });
  const general = [
    { name: 'completed', statuses: ['COMPLETED'] as const, olderThanMs: config['prune.completedDays'] * dayMs },
    { name: 'failed', statuses: failedStatuses, olderThanMs: config['prune.failedDays'] * dayMs },
  ];
  if (routeRules.length === 0) return general;
  const otherWorkflows = workflows.filter((workflow) => !routeRules.some((route) => route.workflow === workflow));
  const sharingRoutes = routes.filter(
    ({ name, workflow }) =>
      routeRules.some((route) => route.workflow === workflow) && !routeRules.some((route) => route.name === name),
  );
  return [
    ...routeRules.map(({ name, days }) => ({ ...ruleOfRoute(name, routes), olderThanMs: days * dayMs })),
    ...general.flatMap((rule) => [
      ...otherWorkflows.map((workflow) => ({ ...rule, workflow })),
      ...sharingRoutes.map(({ name }) => ({ ...rule, ...restrictionOf(name, routes) })),
    ]),
  ];
}

function ruleOfRoute(name: string, routes: readonly RouteWorkflow[]): Omit<PruneRule, 'olderThanMs'> {
  return { name: `route ${name}`, statuses: endedStatuses, ...restrictionOf(name, routes) };
}

/** Selects the executions of a route: by its workflow, and by route name when other routes start the same workflow. */
export function restrictionOf(name: string, routes: readonly RouteWorkflow[]): Pick<PruneRule, 'workflow' | 'route'> {
  const workflow = routes.find((route) => route.name === name)?.workflow;
  if (workflow === undefined) return { route: name };
  const isShared = routes.some((route) => route.name !== name && route.workflow === workflow);
  return { workflow, ...(isShared ? { route: name } : {}) };
}

/**
 * Returns the reasons why the rules must not be used; empty when they are valid. The reconciler would treat executions
 * that are deleted within its look-back as lost and start them again.
 */
export function problemsOf(rules: readonly PruneRule[], config: Config): string[] {
  const requiredMs = config['reconciler.lookBackSeconds'] * 1_000 + config['reconciler.afterMs'];
  if (rules.every(({ olderThanMs }) => olderThanMs > requiredMs)) return [];
  return [
    `executions that ended within the last ${Math.ceil(requiredMs / 3_600_000)} h must be kept: the reconciler looks back that far (reconciler.lookBackSeconds) and would treat deleted executions as lost`,
  ];
}

/** Returns the names of the registered workflows and of the workflows of the routes. */
export async function workflowNames(api: MetadataApi, routes: readonly RouteWorkflow[]): Promise<string[]> {
  const { workflows } = await api.readDefinitions();
  return [...new Set([...workflows.map(({ name }) => name), ...routes.map(({ workflow }) => workflow)])];
}
