// How long what is kept: the rules of the configuration, or those of one command.

import type { WorkflowStatus } from '#lib/conductor/types.ts';
import type { Config } from '#lib/config/schema.ts';

/** What may go. */
export interface PruneRule {
  /** For people: `completed`, `route movies`. */
  readonly name: string;
  /** Exact name of a workflow; any when absent. */
  readonly workflow?: string;
  /** Only executions that came in by this route: set where several routes share a workflow. */
  readonly route?: string;
  readonly statuses: readonly WorkflowStatus[];
  /** Executions that ended longer ago than this go, in milliseconds. */
  readonly olderThanMs: number;
}

/** A route of the map and the workflow that it starts. */
export interface RouteWorkflow {
  readonly name: string;
  readonly workflow: string;
}

const dayMs = 86_400_000;
export const failedStates: readonly WorkflowStatus[] = ['FAILED', 'TIMED_OUT', 'TERMINATED'];
export const endedStates: readonly WorkflowStatus[] = ['COMPLETED', ...failedStates];

/**
 * The rules of the configuration. A route with a rule of its own (`prune.<route>.days`) is left out of the others, so
 * these are then told workflow by workflow.
 * @param workflows every workflow that the engine may have executions of
 */
export function rulesOf(config: Config, routes: readonly RouteWorkflow[], workflows: readonly string[]): PruneRule[] {
  const own = routes.flatMap((route) => {
    const days = config[`prune.${route.name}.days`];
    return days === undefined ? [] : [{ ...route, days }];
  });
  const general = [
    { name: 'completed', statuses: ['COMPLETED'] as const, olderThanMs: config['prune.completedDays'] * dayMs },
    { name: 'failed', statuses: failedStates, olderThanMs: config['prune.failedDays'] * dayMs },
  ];
  if (own.length === 0) return general;
  const others = workflows.filter((workflow) => !own.some((route) => route.workflow === workflow));
  const sharing = routes.filter(
    ({ name, workflow }) =>
      own.some((route) => route.workflow === workflow) && !own.some((route) => route.name === name),
  );
  return [
    ...own.map(({ name, days }) => ({ ...ruleOfRoute(name, routes), olderThanMs: days * dayMs })),
    ...general.flatMap((rule) => [
      ...others.map((workflow) => ({ ...rule, workflow })),
      ...sharing.map(({ name }) => ({ ...rule, ...restrictionOf(name, routes) })),
    ]),
  ];
}

function ruleOfRoute(name: string, routes: readonly RouteWorkflow[]): Omit<PruneRule, 'olderThanMs'> {
  return { name: `route ${name}`, statuses: endedStates, ...restrictionOf(name, routes) };
}

/** What tells the executions of a route: its workflow, and who asked where another route starts the same. */
export function restrictionOf(name: string, routes: readonly RouteWorkflow[]): Pick<PruneRule, 'workflow' | 'route'> {
  const workflow = routes.find((route) => route.name === name)?.workflow;
  if (workflow === undefined) return { route: name };
  const isShared = routes.some((route) => route.name !== name && route.workflow === workflow);
  return { workflow, ...(isShared ? { route: name } : {}) };
}

/**
 * Why these rules must not be used: the reconciler would take what they delete for lost, and send it once more.
 * Nothing when they may.
 */
export function problemsOf(rules: readonly PruneRule[], config: Config): string[] {
  const needed = config['reconciler.lookBackSeconds'] * 1_000 + config['reconciler.afterMs'];
  if (rules.every(({ olderThanMs }) => olderThanMs > needed)) return [];
  return [
    `what ended within the last ${Math.ceil(needed / 3_600_000)} h must stay: the reconciler looks back so far (reconciler.lookBackSeconds), and would take what is gone for lost`,
  ];
}
