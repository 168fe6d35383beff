// Walks the tasks of a workflow in the order the engine meets them, nested ones included.

import type { DefinitionFile, Definitions } from './load-definitions.ts';
import type { Path } from './json-text.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';

/** A task and the way to it inside the definition. */
export interface PlacedTask {
  readonly task: WorkflowTask;
  readonly path: Path;
}

/** Every task: a SWITCH before its cases, a DO_WHILE before what it loops over. */
export function tasksOf({ tasks }: Pick<WorkflowDefinition, 'tasks'>): PlacedTask[] {
  return walk(tasks, ['tasks']);
}

/** The task types of a workflow's SIMPLE tasks, each once. */
export function taskTypesOf(workflow: Pick<WorkflowDefinition, 'tasks'>): string[] {
  const simple = tasksOf(workflow).filter(({ task }) => task.type === 'SIMPLE');
  return [...new Set(simple.map(({ task }) => task.name))];
}

/** The definition of a pinned version. */
export function findWorkflow(
  { workflows }: Pick<Definitions, 'workflows'>,
  { name, version }: { name: string; version: number },
): DefinitionFile<WorkflowDefinition> | undefined {
  return workflows.find(({ definition }) => definition.name === name && definition.version === version);
}

function walk(tasks: readonly WorkflowTask[], path: Path): PlacedTask[] {
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
