// Everything that must hold for the definitions as a whole, listed at once.

import { checkEventHandlers, type Domains } from './check-event-handlers.ts';
import { checkWorkflow } from './check-workflow.ts';
import { type Definitions, type ReadDefinitions, problemAt } from './load-definitions.ts';
import { checkTimeOuts, type TimeOutContext } from './time-outs.ts';
import { tasksOf } from './workflow-tasks.ts';

/** What the definitions are checked against besides each other. */
export interface CheckContext extends TimeOutContext {
  /** `adaptor.<mis>.domain` by MIS code. */
  readonly domains: Domains;
}

/**
 * Checks definitions; pure.
 * @param context configuration and routes; without it only the definitions themselves are checked
 * @returns one line a problem: `file:line:column: path: what is wrong`; what could not be read comes first
 */
export function checkDefinitions(definitions: ReadDefinitions, context?: CheckContext): string[] {
  if (definitions.unreadable.length > 0) {
    // What a broken file would have held seems to be missing everywhere else: only say what is known for sure.
    return [...definitions.problems, ...definitions.workflows.flatMap(checkWorkflow)];
  }
  return [
    ...definitions.problems,
    ...definitions.workflows.flatMap(checkWorkflow),
    ...checkTaskTypes(definitions),
    ...checkEventHandlers(definitions, context?.domains),
    ...(context === undefined ? [] : checkTimeOuts(definitions, context)),
  ];
}

/** Without its task definition a task has no response time-out at all; without a user a definition is forgotten work. */
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
