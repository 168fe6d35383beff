// Derives the retention rules from the configuration: which executions are deleted, and at what age.

import type { ExecutionApi } from '#lib/conductor/executions/execution-api.ts';
import { endedStatuses, failedStatuses } from '#lib/conductor/executions/has-ended.ts';
import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';
import type { RouteWorkflow } from '../../gateway/plugin-api/gateway-routes.ts';

/** Selects executions for deletion. */
export interface PruneRule {
  /** Name for display: `completed`, `route movies`. */
  readonly name: string;
  /** Exact name of a workflow; all workflows when absent. */
  readonly workflow?: string;
  /** Only executions of this route; set when several routes share a workflow. */
  readonly route?: string;
  /** Excludes the executions of these routes, which share the workflow and have their own rules. */
  readonly exceptRoutes?: readonly string[];
  readonly statuses: readonly WorkflowStatus[];
  /** Age above which an execution is deleted, counted from its end, in milliseconds. */
  readonly olderThanMs: number;
}

const dayMs = 86_400_000;

/**
 * Returns the rules of the configuration. The general rules exclude the executions that a route's own rule
 * (`prune.<route>.days`) covers. If any route has such a rule, each general rule is split into one rule for each
 * workflow that has executions in the engine.
 * @throws EngineError
 */
export async function readRules(
  config: Config,
  routes: readonly RouteWorkflow[],
  { api, now }: { readonly api: Pick<ExecutionApi, 'workflows'>; readonly now: number },
): Promise<PruneRule[]> {
  const routeRules = routeRulesOf(config, routes);
  const general = generalRulesOf(config);
  if (routeRules.length === 0) return general;
  const endedBefore = now - Math.min(...general.map(({ olderThanMs }) => olderThanMs));
  const workflows = await api.workflows({ statuses: endedStatuses, endedBefore });
  return [...routeRules, ...workflows.flatMap((workflow) => generalRulesFor(workflow, routeRules, config))];
}

/** Returns the rules of the configuration that cover executions of one workflow. */
export function rulesOfWorkflow(workflow: string, config: Config, routes: readonly RouteWorkflow[]): PruneRule[] {
  const routeRules = routeRulesOf(config, routes).filter((rule) => rule.workflow === workflow);
  return [...routeRules, ...generalRulesFor(workflow, routeRules, config)];
}

/** Returns the general rules, restricted to those executions of the workflow that no rule of a route covers. */
function generalRulesFor(workflow: string, routeRules: readonly PruneRule[], config: Config): PruneRule[] {
  const own = routeRules.filter((rule) => rule.workflow === workflow);
  const exceptRoutes = own.flatMap(({ route }) => route ?? []);
  // The rule of a route that does not share its workflow covers all executions of the workflow.
  if (exceptRoutes.length < own.length) return [];
  const scope = own.length === 0 ? { workflow } : { workflow, exceptRoutes };
  return generalRulesOf(config).map((rule) => ({ ...rule, ...scope }));
}

/** Returns the rules of the routes that have `prune.<route>.days`: one for each workflow of the route. */
export function routeRulesOf(config: Config, routes: readonly RouteWorkflow[]): PruneRule[] {
  return [...new Set(routes.map(({ name }) => name))].flatMap((name) => {
    const days = config[`prune.${name}.days`];
    if (days === undefined) return [];
    const rule = { name: `route ${name}`, statuses: endedStatuses, olderThanMs: days * dayMs };
    return restrictionsOf(name, routes).map((restriction) => ({ ...rule, ...restriction }));
  });
}

/** Returns the general rules, which cover the executions that no route's own rule covers. */
export function generalRulesOf(config: Config): PruneRule[] {
  return [
    { name: 'completed', statuses: ['COMPLETED'], olderThanMs: config['prune.completedDays'] * dayMs },
    { name: 'failed', statuses: failedStatuses, olderThanMs: config['prune.failedDays'] * dayMs },
  ];
}

/**
 * Returns the restrictions that select the executions of a route: one for each of its workflows, with the name of the
 * route when other routes start the same workflow.
 */
export function restrictionsOf(
  name: string,
  routes: readonly RouteWorkflow[],
): Pick<PruneRule, 'workflow' | 'route'>[] {
  return routes
    .filter((route) => route.name === name)
    .map(({ workflow }) => {
      const isShared = routes.some((route) => route.name !== name && route.workflow === workflow);
      return { workflow, ...(isShared ? { route: name } : {}) };
    });
}

/**
 * Returns the reasons why the rules must not be used; empty when they are valid. If the rules deleted executions within
 * the look-back of the reconciler, the reconciler would treat them as lost and start them again.
 */
export function problemsOf(rules: readonly PruneRule[], config: Config): string[] {
  const requiredMs = config['reconciler.lookBackSeconds'] * 1_000 + config['reconciler.afterMs'];
  if (rules.every(({ olderThanMs }) => olderThanMs > requiredMs)) return [];
  return [
    `executions that ended within the last ${Math.ceil(requiredMs / 3_600_000)} h would be deleted, but the reconciler looks back that far (reconciler.lookBackSeconds) and would treat them as lost: keep executions longer`,
  ];
}
