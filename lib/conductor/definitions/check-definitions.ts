// Checks that all definitions are consistent with each other.

import { checkEventHandlers, type Domains } from './check-event-handlers.ts';
import { checkMdmWorkflows } from './check-mdm-workflows.ts';
import { checkResponses } from './check-responses.ts';
import { checkWorkflow } from './check-workflow.ts';
import { type Definitions, type ReadDefinitions, problemAt } from './load-definitions.ts';
import { checkTimeouts, type TimeoutContext } from './timeouts.ts';
import { tasksOf } from './workflow-tasks.ts';

/** Configuration against which the definitions are checked. */
export interface CheckContext extends TimeoutContext {
  /** `adaptor.<mis>.domain` by MIS code. */
  readonly domains: Domains;
}

/**
 * Checks definitions. This is a pure function.
 * @param context configuration and routes; without it, only the definitions themselves are checked
 * @returns one line per problem: `file:line:column: path: message`; unreadable files come first
 */
export function checkDefinitions(definitions: ReadDefinitions, context?: CheckContext): string[] {
  if (definitions.unreadable.length > 0) {
    // Checks across files are skipped, because they would report the definitions of the unreadable files as missing.
    return [...definitions.problems, ...definitions.workflows.flatMap(checkWorkflow)];
  }
  return [
    ...definitions.problems,
    ...definitions.workflows.flatMap(checkWorkflow),
    ...checkTaskTypes(definitions),
    ...checkEventHandlers(definitions, context?.domains),
    ...checkMdmWorkflows(definitions),
    ...(context === undefined
      ? []
      : [...checkTimeouts(definitions, context), ...checkResponses(definitions, context.routes)]),
  ];
}

/** Checks that each task has a task definition, which sets its response timeout, and that each definition is used. */
function checkTaskTypes({ workflows, taskDefs }: Definitions): string[] {
  const defined = new Set(taskDefs.map(({ definition }) => definition.name));
  const used = new Set<string>();
  const problems: string[] = [];
  for (const file of workflows) {
    for (const { task, path } of tasksOf(file.definition)) {
      if (task.type !== 'SIMPLE') continue;
      used.add(task.name);
      if (!defined.has(task.name)) {
        problems.push(problemAt(file, [...path, 'name'], `there is no workflows/tasks/${task.name}.json`));
      }
    }
  }
  for (const file of taskDefs) {
    if (!used.has(file.definition.name)) problems.push(problemAt(file, ['name'], 'no workflow uses this task type'));
  }
  return problems;
}
