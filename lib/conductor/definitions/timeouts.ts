// Checks the timeout budget. A back end must have less time than its task. For a read, the task must not have more time
// than the client; for a write, the task timeout must cover an engine restart.

import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import type { TaskDefinition, WorkflowDefinition } from './schema.ts';
import { findWorkflow, taskTypesOf } from './workflow-tasks.ts';

/** A route with one workflow version that it starts. A route with several versions has one entry per version. */
export interface Route {
  /** Name of the pipeline, which messages use as the name of the route. */
  readonly name: string;
  /** Position of the workflow policy, for messages: `gateway.config.yml: pipelines.movies.policies[1].workflow[0]`. */
  readonly place: string;
  readonly workflow: string;
  readonly version: number;
  /** Response deadline in milliseconds. */
  readonly responseDeadlineMs: number;
  /** True when the route accepts methods that change data. */
  readonly writes: boolean;
}

/** Configuration that determines the timeout budget. */
export interface TimeoutContext {
  /** `workers.backEndTimeoutMs` */
  readonly backEndTimeoutMs: number;
  readonly routes: readonly Route[];
}

/** The timeouts of one task type on one route, in milliseconds. Without a route, no client waits for the task. */
export interface TimeoutBudgetStep {
  readonly taskType: string;
  readonly route: Route | undefined;
  readonly backEndMs: number;
  readonly responseMs: number;
}

/** Time that a worker needs to fetch the task and to report the result. */
const workerMarginMs = 2_000;
/** Maximum duration of an engine restart. The task of a write that is applied during the restart must not time out. */
const engineRestartMs = 60_000;

/**
 * Returns the timeout budget: first the steps of the routes in the order of gateway.config.yml, then those of task
 * types without a route.
 */
export function timeoutBudget(
  definitions: Definitions,
  { routes, backEndTimeoutMs }: TimeoutContext,
): TimeoutBudgetStep[] {
  const step = (taskType: string, route: Route | undefined): TimeoutBudgetStep[] =>
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
    return workflow === undefined ? [] : taskTypesOf(workflow.definition).flatMap((type) => step(type, route));
  });
  const routedTypes = new Set(routed.map(({ taskType }) => taskType));
  const others = definitions.taskDefs.map(({ definition }) => definition.name).filter((name) => !routedTypes.has(name));
  return [...routed, ...others.flatMap((type) => step(type, undefined))];
}

/** Checks the routes and the timeout budget. Returns one line per problem. */
export function checkTimeouts(definitions: Definitions, context: TimeoutContext): string[] {
  const problems = [
    ...context.routes.flatMap((route) => checkRoute(definitions, route, context)),
    ...timeoutBudget(definitions, context).flatMap((step) => checkStep(definitions, step)),
  ];
  return [...new Set(problems)];
}

function checkRoute(definitions: Definitions, route: Route, { backEndTimeoutMs }: TimeoutContext): string[] {
  const workflow = findWorkflow(definitions, { name: route.workflow, version: route.version });
  if (workflow === undefined) {
    return [`${route.place}: there is no workflow ${route.workflow} version ${route.version}`];
  }
  const problems: string[] = [];
  if (route.responseDeadlineMs <= backEndTimeoutMs) {
    problems.push(
      `${route.place}: the response deadline of ${route.responseDeadlineMs} ms must be longer than the time that a back end may take (workers.backEndTimeoutMs = ${backEndTimeoutMs})`,
    );
  }
  return [...problems, ...checkRoutedWorkflow(workflow)];
}

/**
 * Checks that a routed workflow has no timeout, because the router enforces the deadline. With a timeout, the engine
 * would not evaluate an execution of the workflow again until the timeout had passed.
 */
function checkRoutedWorkflow(file: DefinitionFile<WorkflowDefinition>): string[] {
  const { timeoutSeconds = 0 } = file.definition;
  return timeoutSeconds === 0
    ? []
    : [
        problemAt(
          file,
          ['timeoutSeconds'],
          'must be 0 or absent in a routed workflow: the router enforces the deadline',
        ),
      ];
}

function checkStep(definitions: Definitions, { taskType, route, backEndMs, responseMs }: TimeoutBudgetStep): string[] {
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
      `must be at least ${engineRestartMs / 1_000} s: route ${route.name} writes, and the task of an applied write must not time out while the engine restarts`,
    );
  }
  if (route?.writes === false && responseMs > route.responseDeadlineMs) {
    report(
      `must be at most ${route.responseDeadlineMs / 1_000} s: route ${route.name} only reads, and its clients do not wait longer`,
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
    report('timeoutPolicy', `must be TIME_OUT_WF: clients of route ${route.name} wait for a response`);
  }
  if (route.writes && retryCount > 0) {
    report(
      'retryCount',
      `must be 0: route ${route.name} writes, and a write whose outcome is unknown is never repeated`,
    );
  }
  return problems;
}
