// Lists the tasks of a workflow in the order of their execution, including nested tasks.

import type { DefinitionFile, Definitions } from './load-definitions.ts';
import type { Path } from './json-text.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';

/** A task and its path inside the definition. */
export interface LocatedTask {
  readonly task: WorkflowTask;
  readonly path: Path;
}

/** Returns all tasks: a SWITCH before its cases, a DO_WHILE before the tasks of its loop. */
export function tasksOf({ tasks }: Pick<WorkflowDefinition, 'tasks'>): LocatedTask[] {
  return walk(tasks, ['tasks']);
}

/** Returns the distinct task types of a workflow's SIMPLE tasks. */
export function taskTypesOf(workflow: Pick<WorkflowDefinition, 'tasks'>): string[] {
  const simple = tasksOf(workflow).filter(({ task }) => task.type === 'SIMPLE');
  return [...new Set(simple.map(({ task }) => task.name))];
}

/** Returns the definition of a workflow version; undefined when there is none. */
export function findWorkflow(
  { workflows }: Pick<Definitions, 'workflows'>,
  { name, version }: { name: string; version: number },
): DefinitionFile<WorkflowDefinition> | undefined {
  return workflows.find(({ definition }) => definition.name === name && definition.version === version);
}

function walk(tasks: readonly WorkflowTask[], path: Path): LocatedTask[] {
  return tasks.flatMap((task, index) => {
    const here = [...path, index];
    const cases = Object.entries(task.decisionCases ?? {}).flatMap(([value, branch]) =>
      walk(branch, [...here, 'decisionCases', value]),
    );
    return [
      { task, path: here },
      ...cases,
      ...walk(task.defaultCase ?? [], [...here, 'defaultCase']),
      ...walk(task.loopOver ?? [], [...here, 'loopOver']),
    ];
  });
}
