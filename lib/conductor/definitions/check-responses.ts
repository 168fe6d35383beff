// Checks that the output of each routed workflow can contain `outbound`, the response that the router sends.

import { type DefinitionFile, type Definitions, problemAt } from './load-definitions.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';
import type { Route } from './timeouts.ts';
import { findWorkflow, tasksOf } from './workflow-tasks.ts';

/**
 * Returns one line for each routed workflow whose executions would all end without a response. A workflow with a
 * TERMINATE task is not checked, because such a task sets the output.
 */
export function checkResponses(definitions: Definitions, routes: readonly Route[]): string[] {
  const problems = routes.flatMap((route) => {
    const file = findWorkflow(definitions, { name: route.workflow, version: route.version });
    return file === undefined ? [] : checkOutput(file, route);
  });
  return [...new Set(problems)];
}

function checkOutput(file: DefinitionFile<WorkflowDefinition>, route: Route): string[] {
  const { tasks, outputParameters = {} } = file.definition;
  if (tasksOf(file.definition).some(({ task }) => task.type === 'TERMINATE')) return [];
  if (Object.keys(outputParameters).length === 0 && lastTasks(tasks).some(mayOutputOutbound)) return [];
  const path = ['outputParameters'];
  const example = JSON.stringify(exampleOf(file.definition));
  if (!Object.hasOwn(outputParameters, 'outbound')) {
    const message = `"outbound" is missing: clients of route ${route.name} would get no response; write "outbound": ${example}`;
    return [problemAt(file, path, message)];
  }
  const { outbound } = outputParameters;
  if (isExpression(outbound)) return [];
  if (typeof outbound !== 'object' || outbound === null || Array.isArray(outbound)) {
    const message = `must be an expression such as ${example}, or an object with a statusCodeValue`;
    return [problemAt(file, [...path, 'outbound'], message)];
  }
  const { statusCodeValue } = outbound as { statusCodeValue?: unknown };
  if (isExpression(statusCodeValue) || isStatus(statusCodeValue)) return [];
  const message = 'must be an integer from 200 to 599, or an expression';
  return [problemAt(file, [...path, 'outbound', 'statusCodeValue'], message)];
}

/**
 * Returns true for a string that the engine replaces with the value of an expression. Within a longer string, the
 * engine inserts the value as text.
 */
function isExpression(value: unknown): boolean {
  return typeof value === 'string' && /^\$\{.+\}$/s.test(value);
}

/** Returns true for a status that lib/envelope/outbound.ts accepts. */
function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599;
}

/**
 * Returns the tasks that can be the last one of an execution. Without output parameters, the engine uses the output of
 * the last task as the workflow's output.
 */
function lastTasks(tasks: readonly WorkflowTask[]): WorkflowTask[] {
  const last = tasks.at(-1);
  if (last === undefined) return [];
  const { decisionCases = {}, defaultCase = [], loopOver = [] } = last;
  return [last, ...[...Object.values(decisionCases), defaultCase, loopOver].flatMap(lastTasks)];
}

/** Types whose output is a value named `result`. */
const resultTypes: readonly string[] = ['INLINE', 'JSON_JQ_TRANSFORM'];

/** Returns false for a task of the engine whose output never contains `outbound`. */
function mayOutputOutbound({ type }: WorkflowTask): boolean {
  return type !== 'SWITCH' && !resultTypes.includes(type);
}

/** Returns an expression for messages: the output of the last task that can create a response. */
function exampleOf(workflow: WorkflowDefinition): string {
  const last = tasksOf(workflow).findLast(({ task }) => ['SIMPLE', ...resultTypes].includes(task.type))?.task;
  const field = last !== undefined && resultTypes.includes(last.type) ? 'result' : 'outbound';
  return `\${${last?.taskReferenceName ?? '<task>'}.output.${field}}`;
}
