// The ladder of time-outs: back end < task < client for a read; a write's task outlives an engine restart instead.

import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import type { TaskDefinition, WorkflowDefinition } from './schema.ts';
import { findWorkflow, taskTypesOf } from './workflow-tasks.ts';

/** A route of the gateway that starts a workflow; one that may start several versions is here once for each. */
export interface Route {
  /** Its pipeline. */
  readonly name: string;
  /** Where its workflow policy stands, for messages: `gateway.config.yml: pipelines.movies.policies[1].workflow[0]`. */
  readonly place: string;
  readonly workflow: string;
  readonly version: number;
  /** How long a client waits, in milliseconds. */
  readonly waitBudgetMs: number;
  /** True when the route lets methods through that change something. */
  readonly writes: boolean;
}

/** What the ladder is checked against. */
export interface TimeOutContext {
  /** `workers.backEndTimeoutMs` */
  readonly backEndTimeoutMs: number;
  readonly routes: readonly Route[];
}

/** One task type on one route, all times in milliseconds. Without a route nobody waits for it. */
export interface TimeoutBudgetStep {
  readonly taskType: string;
  readonly route: Route | undefined;
  readonly backEndMs: number;
  readonly responseMs: number;
}

/** What a worker needs besides the back end's answer: to fetch the task and to report the result. */
const workerMarginMs = 2_000;
/** An engine is back after a restart within this time: a write that was applied meanwhile must not have timed out. */
const engineRestartMs = 60_000;

/** Every rung, routes first, in the order of the gateway's map. */
export function timeoutBudget(
  definitions: Definitions,
  { routes, backEndTimeoutMs }: TimeOutContext,
): TimeoutBudgetStep[] {
  const rung = (taskType: string, route: Route | undefined): TimeoutBudgetStep[] =>
    definitions.taskDefs
      .filter(({ definition }) => definition.name === taskType)
      .map(({ definition }) => ({
        taskType,
        route,
        backEndMs: backEndTimeoutMs,
        responseMs: definition.responseTimeoutSeconds * 1_000,
      }));
  const routed = routes.flatMap((route) => {
    const workflow = findWorkflow(definitions, { name: route.workflow, version: route.version });
    return workflow === undefined ? [] : taskTypesOf(workflow.definition).flatMap((type) => rung(type, route));
  });
  const waitedFor = new Set(routed.map(({ taskType }) => taskType));
  const others = definitions.taskDefs.map(({ definition }) => definition.name).filter((name) => !waitedFor.has(name));
  return [...routed, ...others.flatMap((type) => rung(type, undefined))];
}

/** Checks routes and ladder; one line a problem. */
export function checkTimeOuts(definitions: Definitions, context: TimeOutContext): string[] {
  const problems = [
    ...context.routes.flatMap((route) => checkRoute(definitions, route, context)),
    ...timeoutBudget(definitions, context).flatMap((rung) => checkRung(definitions, rung)),
  ];
  return [...new Set(problems)];
}

function checkRoute(definitions: Definitions, route: Route, { backEndTimeoutMs }: TimeOutContext): string[] {
  const workflow = findWorkflow(definitions, { name: route.workflow, version: route.version });
  if (workflow === undefined) {
    return [`${route.place}: there is no workflow ${route.workflow} version ${route.version}`];
  }
  const problems: string[] = [];
  if (route.waitBudgetMs <= backEndTimeoutMs) {
    problems.push(
      `${route.place}: clients wait ${route.waitBudgetMs} ms, no longer than a back end may take (workers.backEndTimeoutMs = ${backEndTimeoutMs})`,
    );
  }
  return [...problems, ...checkRoutedWorkflow(workflow)];
}

/** The router owns the deadline: a time-out of the workflow would make the engine look after it only then. */
function checkRoutedWorkflow(file: DefinitionFile<WorkflowDefinition>): string[] {
  const { timeoutSeconds = 0 } = file.definition;
  return timeoutSeconds === 0
    ? []
    : [problemAt(file, ['timeoutSeconds'], 'a routed workflow has none: the router owns the deadline')];
}

function checkRung(definitions: Definitions, { taskType, route, backEndMs, responseMs }: TimeoutBudgetStep): string[] {
  const file = definitions.taskDefs.find(({ definition }) => definition.name === taskType);
  if (file === undefined) return [];
  const problems = checkTask(file, route);
  const report = (message: string) => problems.push(problemAt(file, ['responseTimeoutSeconds'], message));
  if (responseMs < backEndMs + workerMarginMs) {
    report(
      `must be at least ${(backEndMs + workerMarginMs) / 1_000} s: workers.backEndTimeoutMs (${backEndMs} ms) + 2 s`,
    );
  }
  if (route?.writes === true && responseMs < engineRestartMs) {
    report(
      `must be at least ${engineRestartMs / 1_000} s: route ${route.name} writes, and an applied write must outlive an engine restart`,
    );
  }
  if (route?.writes === false && responseMs > route.waitBudgetMs) {
    report(
      `must be at most ${route.waitBudgetMs / 1_000} s: route ${route.name} only reads, and its clients wait no longer`,
    );
  }
  return problems;
}

function checkTask(file: DefinitionFile<TaskDefinition>, route: Route | undefined): string[] {
  const { timeoutSeconds, responseTimeoutSeconds, retryCount, timeoutPolicy } = file.definition;
  const problems: string[] = [];
  const report = (field: keyof TaskDefinition, message: string) => problems.push(problemAt(file, [field], message));
  if (timeoutSeconds !== 0 && timeoutSeconds < responseTimeoutSeconds) {
    report('timeoutSeconds', 'must be 0 (none) or at least responseTimeoutSeconds');
  }
  if (route === undefined) return problems;
  if (timeoutPolicy !== 'TIME_OUT_WF') {
    report('timeoutPolicy', `must be TIME_OUT_WF: clients of route ${route.name} wait for an answer`);
  }
  if (route.writes && retryCount > 0) {
    report(
      'retryCount',
      `must be 0: route ${route.name} writes, and a write whose outcome is unknown is never repeated`,
    );
  }
  return problems;
}
