// Creates the diagram of an execution from its workflow definition and its executed tasks.

import { nameOfState } from '#lib/conductor/executions/names.ts';
import type { ExecutedTask } from '#lib/conductor/executions/execution.ts';
import { meaningOf } from '../pages/state.ts';
import type { Block, Branch, Meaning, NodeBlock } from './block.ts';

/**
 * A task in any workflow definition on the engine. It may have a type or fields that this product's definitions do not
 * use.
 */
export interface DefinedTask {
  readonly name?: string;
  readonly taskReferenceName: string;
  readonly type?: string;
  readonly sink?: string;
  readonly decisionCases?: Readonly<Record<string, readonly DefinedTask[]>>;
  readonly defaultCase?: readonly DefinedTask[];
  readonly forkTasks?: readonly (readonly DefinedTask[])[];
  readonly loopOver?: readonly DefinedTask[];
  readonly subWorkflowParam?: { readonly name?: unknown };
}

/** The latest attempt of each iteration of each task, by reference name without the iteration number. */
type Executed = ReadonlyMap<string, readonly ExecutedTask[]>;

const controlTypes: readonly string[] = [
  'SWITCH',
  'DECISION',
  'FORK_JOIN',
  'FORK_JOIN_DYNAMIC',
  'FORK',
  'JOIN',
  'EXCLUSIVE_JOIN',
  'DO_WHILE',
  'TERMINATE',
];
/** Maximum number of forked tasks that are drawn for a dynamic fork. */
const maxForked = 8;

/**
 * Returns the diagram of an execution. Without a definition, the executed tasks are drawn one after the other.
 * @param tasks tasks of the execution
 */
export function workflowDiagram(
  definition: { readonly tasks?: readonly DefinedTask[] } | undefined,
  tasks: readonly ExecutedTask[],
): Block {
  const executed = groupByName(tasks);
  const defined = definition?.tasks ?? [];
  if (defined.length > 0) return sequenceOf(defined, executed);
  const names = [...executed.keys()].map((taskReferenceName) => ({ taskReferenceName }));
  return sequenceOf(names, executed);
}

function sequenceOf(tasks: readonly DefinedTask[], executed: Executed): Block {
  return { kind: 'sequence', blocks: tasks.flatMap((task) => blocksOf(task, executed)) };
}

function blocksOf(task: DefinedTask, executed: Executed): Block[] {
  const node = nodeOf(task, executed);
  const split = (branches: readonly Branch[]): Block[] =>
    branches.length === 0 ? [node] : [node, { kind: 'split', branches }];
  switch (task.type) {
    case 'SWITCH':
    case 'DECISION':
      return split(casesOf(task, executed));
    case 'FORK_JOIN':
    case 'FORK':
      return split((task.forkTasks ?? []).map((branch) => branchOf('', branch, executed)));
    case 'FORK_JOIN_DYNAMIC':
      return split(forkedBranches(task, executed));
    case 'DO_WHILE': {
      const title = `${node.title}, ${node.subtitle}`;
      return [{ kind: 'loop', title, block: sequenceOf(task.loopOver ?? [], executed) }];
    }
    default:
      return [node];
  }
}

function casesOf(task: DefinedTask, executed: Executed): Branch[] {
  const chosen = (executed.get(task.taskReferenceName) ?? []).flatMap(({ outputData }) => {
    const output = outputData?.['evaluationResult'] ?? outputData?.['caseOutput'];
    return Array.isArray(output) ? output.map(String) : [];
  });
  const isExecuted = (branch: readonly DefinedTask[]) => branch.some((each) => executed.has(each.taskReferenceName));
  const cases = Object.entries(task.decisionCases ?? {}).map(([value, branch]) => ({
    ...branchOf(value, branch, executed),
    isTaken: chosen.includes(value) || isExecuted(branch),
  }));
  const defaultCase = task.defaultCase ?? [];
  const isDecided = executed.has(task.taskReferenceName);
  const isDefault = isExecuted(defaultCase) || (isDecided && !cases.some(({ isTaken }) => isTaken));
  return [...cases, { ...branchOf('default', defaultCase, executed), isTaken: isDefault }];
}

function forkedBranches(task: DefinedTask, executed: Executed): Branch[] {
  const forked = (executed.get(task.taskReferenceName) ?? []).flatMap(({ inputData }) => {
    const names = inputData?.['forkedTasks'];
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  });
  const shown = forked.slice(0, maxForked);
  const branches = shown.map((taskReferenceName) => branchOf('', [{ taskReferenceName }], executed));
  const others = forked.length - shown.length;
  return others === 0 ? branches : [...branches, branchOf(`${others} more`, [], executed)];
}

function branchOf(label: string, tasks: readonly DefinedTask[], executed: Executed): Branch {
  return {
    label,
    block: sequenceOf(tasks, executed),
    isTaken: tasks.length === 0 || tasks.some(({ taskReferenceName }) => executed.has(taskReferenceName)),
  };
}

function nodeOf({ taskReferenceName, type, sink, subWorkflowParam }: DefinedTask, executed: Executed): NodeBlock {
  const runs = executed.get(taskReferenceName) ?? [];
  const last = runs.findLast(({ status }) => meaningOf(status) === 'bad') ?? runs.at(-1);
  const known = type ?? (last?.taskType === taskReferenceName ? 'SIMPLE' : last?.taskType) ?? 'SIMPLE';
  const state = last === undefined ? 'not reached' : nameOfState(last.status);
  const times = last !== undefined && (last.iteration ?? 0) > 0 && runs.length > 1 ? ` ${runs.length}×` : '';
  const target = known === 'SUB_WORKFLOW' ? subWorkflowParam?.name : sink;
  return {
    kind: 'node',
    title: typeof target === 'string' && known === 'SUB_WORKFLOW' ? target : taskReferenceName,
    subtitle: `${known}, ${state}${times}`,
    meaning: meaningOf(last?.status) as Meaning,
    isControl: controlTypes.includes(known),
    href: startedExecution(last),
  };
}

/** Returns the path of the page for the execution that a task has started; undefined when it has started none. */
function startedExecution(task: ExecutedTask | undefined): string | undefined {
  const id = task?.subWorkflowId ?? task?.outputData?.['subWorkflowId'] ?? task?.outputData?.['workflowId'];
  const isStart = task?.taskType === 'SUB_WORKFLOW' || task?.taskType === 'START_WORKFLOW';
  return isStart && typeof id === 'string' && id !== '' ? `/executions/${encodeURIComponent(id)}` : undefined;
}

/**
 * Groups tasks by reference name without `__<n>`, which the engine appends to the reference names of tasks in a loop.
 */
function groupByName(tasks: readonly ExecutedTask[]): Executed {
  const latest = new Map<string, ExecutedTask>();
  for (const task of tasks) {
    const known = latest.get(task.referenceTaskName);
    if ((known?.retryCount ?? -1) <= (task.retryCount ?? 0)) latest.set(task.referenceTaskName, task);
  }
  const grouped = new Map<string, ExecutedTask[]>();
  for (const task of latest.values()) {
    const name = (task.iteration ?? 0) > 0 ? task.referenceTaskName.replace(/__\d+$/, '') : task.referenceTaskName;
    grouped.set(name, [...(grouped.get(name) ?? []), task]);
  }
  return grouped;
}
