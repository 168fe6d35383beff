// Checks a single workflow: allowed task types, unique reference names, and expressions that resolve.

import { isEngineSink } from './events.ts';
import { type Expression, findExpressions, findUnclosedExpressions } from './expressions.ts';
import type { Path } from './json-text.ts';
import { type DefinitionFile, problemAt } from './load-definitions.ts';
import type { WorkflowDefinition, WorkflowTask } from './schema.ts';
import { problemOfTaskType, taskTypes } from './task-types.ts';
import { tasksOf } from './workflow-tasks.ts';

/** Fields of `${workflow.…}` besides `input`. */
const workflowFields = new Set([
  'workflowId',
  'correlationId',
  'workflowType',
  'version',
  'status',
  'variables',
  'output',
  'reasonForIncompletion',
]);

/** Checks a workflow on its own, without other definitions. Returns one line per problem. */
export function checkWorkflow(file: DefinitionFile<WorkflowDefinition>): string[] {
  return [...checkTasks(file), ...checkExpressions(file)];
}

function checkTasks(file: DefinitionFile<WorkflowDefinition>): string[] {
  const problems: string[] = [];
  const report = (path: Path, message: string) => problems.push(problemAt(file, path, message));
  const seen = new Set<string>();
  for (const { task, path } of tasksOf(file.definition)) {
    const typeProblem = problemOfTaskType(task.type);
    if (typeProblem !== undefined) report([...path, 'type'], typeProblem);
    for (const field of missingFields(task)) report(path, `a task of type ${task.type} needs "${field}"`);
    if (seen.has(task.taskReferenceName)) {
      report([...path, 'taskReferenceName'], `"${task.taskReferenceName}" is used twice`);
    }
    seen.add(task.taskReferenceName);
    for (const message of checkSwitch(task)) report(path, message);
    if (task.retryCount !== undefined)
      report(
        [...path, 'retryCount'],
        'must not be set in a workflow, because it would replace the retryCount of the task definition: set it there',
      );
    if (task.type === 'EVENT' && task.sink !== undefined && !isEngineSink(task.sink)) {
      report([...path, 'sink'], `only the engine's own queues carry events: the sink must begin with "conductor"`);
    }
  }
  return problems;
}

function missingFields(task: WorkflowTask): string[] {
  const fields = task as Readonly<Record<string, unknown>>;
  return (taskTypes[task.type]?.required ?? []).filter((field) => fields[field] === undefined);
}

/** Checks a SWITCH task: with `value-param`, the expression must be the name of one of the task's input parameters. */
function checkSwitch({ type, evaluatorType, expression, inputParameters }: WorkflowTask): string[] {
  if (type !== 'SWITCH' || evaluatorType !== 'value-param' || expression === undefined) return [];
  return Object.hasOwn(inputParameters ?? {}, expression)
    ? []
    : [`the expression "${expression}" is not among the task's inputParameters`];
}

/**
 * Checks that tasks refer only to themselves and to tasks that start before them. The output may refer to every task.
 */
function checkExpressions(file: DefinitionFile<WorkflowDefinition>): string[] {
  const { inputParameters: inputs, outputParameters } = file.definition;
  const located = tasksOf(file.definition);
  const all = new Set(located.map(({ task }) => task.taskReferenceName));
  const started = new Set<string>();
  const problems: string[] = [];
  const checkExpression = (expression: Expression, known: ReadonlySet<string>) => {
    const message = problemOf(expression, { known, all, inputs });
    if (message !== undefined) problems.push(problemAt(file, expression.path, message));
  };
  const check = (value: unknown, path: Path, known: ReadonlySet<string>) => {
    for (const expression of findExpressions(value, path)) checkExpression(expression, known);
    for (const problem of findUnclosedExpressions(value, path)) problems.push(problemAt(file, ...problem));
  };
  for (const { task, path } of located) {
    started.add(task.taskReferenceName);
    const { inputParameters, sink, items } = task;
    check({ inputParameters, sink, items }, path, started);
  }
  check(outputParameters, ['outputParameters'], all);
  return problems;
}

interface Scope {
  readonly known: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
  readonly inputs: readonly string[];
}

function problemOf({ text, steps: [root = '', field = '', name] }: Expression, scope: Scope): string | undefined {
  const shown = `\${${text}}`;
  if (root === 'workflow') {
    if (field === 'input') {
      return name === undefined || scope.inputs.includes(name)
        ? undefined
        : `${shown}: "${name}" is not among the workflow's inputParameters`;
    }
    if (field === '') return `${shown}: a field of the workflow must follow, such as input`;
    return workflowFields.has(field) ? undefined : `${shown}: a workflow has no "${field}"`;
  }
  if (!scope.all.has(root)) return `${shown}: no task has the reference name "${root}"`;
  if (!scope.known.has(root)) return `${shown}: the task "${root}" runs later`;
  if (field === 'output' || field === 'input') return undefined;
  const found = field === '' ? `: one of them must follow "${root}"` : `, not "${field}"`;
  return `${shown}: a task offers "output" and "input"${found}`;
}
