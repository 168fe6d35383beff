// Derives workflow metadata from a definition: the task types, and the input and the effects of the first task.

import { eventName, isEngineSink } from '#lib/conductor/definitions/events.ts';

/** The fields of a task in a workflow definition that determine the control flow, with Conductor's names. */
export interface WorkflowTask {
  name: string;
  taskReferenceName: string;
  type: string;
  optional?: boolean;
  /** Delay before the task is queued, in seconds. */
  startDelay?: number;
  /** Number of retries; replaces the number in the task definition. */
  retryCount?: number;
  inputParameters?: Record<string, unknown>;
  sink?: string;
  evaluatorType?: string;
  expression?: string;
  decisionCases?: Record<string, WorkflowTask[]>;
  defaultCase?: WorkflowTask[];
  loopOver?: WorkflowTask[];
  forkTasks?: WorkflowTask[][];
}

/** The fields of a workflow definition that the metadata depends on. */
export interface WorkflowDefinition {
  name: string;
  tasks: WorkflowTask[];
  outputParameters?: Record<string, unknown>;
  /** Values that the engine adds to the input of an execution. */
  inputTemplate?: Record<string, unknown>;
}

/** A JSON object, such as the input or the output of a task. */
export type Values = Record<string, unknown>;

/** Properties of the executions of a definition. */
export interface WorkflowMetadata {
  /** Task types (SIMPLE) in the order of the definition. */
  readonly taskTypes: readonly string[];
  /** The first task, if it is a SIMPLE task. */
  readonly first: FirstTask | undefined;
}

/** A SIMPLE task with which every execution of a definition begins. */
export interface FirstTask {
  readonly taskType: string;
  readonly referenceName: string;
  /** True when no other task of the definition has the same task type. */
  readonly isOnlyOfType: boolean;
  /** True when the definition makes the engine delay or retry the task. */
  readonly isDelayedOrRetried: boolean;
  /** Computes the task's input from the workflow's input; undefined when only the engine can do that. */
  readonly inputOf: ((workflowInput: Values) => Values) | undefined;
  /** Present when completing this task completes the execution in the same step of the engine. */
  readonly last: LastTask | undefined;
}

/** The effects of completing the last task of an execution. */
export interface LastTask {
  /** Computes the workflow's output from the task's output. */
  readonly outputOf: (taskOutput: Values) => Values;
  /** Computes the events that the engine publishes, `conductor:<workflow>:<sink>`, from the workflow's input. */
  readonly eventsOf: (workflowInput: Values) => string[];
}

/** Derives the metadata of a definition. Values that only the engine can determine are undefined. */
export function workflowMetadataOf(definition: WorkflowDefinition): WorkflowMetadata {
  const { tasks } = definition;
  const simple = flatten(tasks).filter(({ type }) => type === 'SIMPLE');
  return {
    taskTypes: [...new Set(simple.map((task) => task.name))],
    first:
      tasks[0]?.type === 'SIMPLE'
        ? {
            ...firstTask(tasks[0], tasks.slice(1), definition),
            isOnlyOfType: simple.filter((task) => task.name === tasks[0]?.name).length === 1,
          }
        : undefined,
  };
}

function firstTask(
  task: WorkflowTask,
  rest: readonly WorkflowTask[],
  { name: workflow, outputParameters = {}, inputTemplate = {} }: WorkflowDefinition,
): Omit<FirstTask, 'isOnlyOfType'> {
  const {
    name: taskType,
    taskReferenceName: referenceName,
    inputParameters = {},
    startDelay = 0,
    retryCount = 0,
  } = task;
  const input = isEmpty(inputTemplate) ? references(inputParameters, 'workflow.input') : undefined;
  // Without output parameters, the engine uses the output of the task that ended last as the workflow's output.
  const output = isEmpty(outputParameters) ? undefined : references(outputParameters, `${referenceName}.output`);
  const events = rest.map((next) => eventsOf(workflow, next));
  const isLast = task.optional !== true && output !== undefined && events.every((event) => event !== undefined);
  return {
    taskType,
    referenceName,
    isDelayedOrRetried: startDelay > 0 || retryCount > 0,
    inputOf: input && ((workflowInput) => read(input, workflowInput)),
    last: isLast
      ? {
          outputOf: (taskOutput) => read(output, taskOutput),
          eventsOf: (workflowInput) => events.flatMap((produced) => produced(workflowInput)),
        }
      : undefined,
  };
}

type Events = (workflowInput: Values) => string[];

/**
 * Returns the events of a task that the engine runs in the same step and that cannot change the execution's result: an
 * optional EVENT, or a SWITCH by value over such tasks. Undefined for every other task.
 */
function eventsOf(workflow: string, task: WorkflowTask): Events | undefined {
  if (task.type === 'EVENT') {
    // The engine resolves expressions in a sink, so the name of such an event is not known here.
    if (task.optional !== true || !isEngineSink(task.sink) || task.sink?.includes('${')) return undefined;
    const name = eventName(workflow, task);
    return () => [name];
  }
  if (task.type !== 'SWITCH' || task.evaluatorType !== 'value-param') return undefined;
  const value = references({ value: task.inputParameters?.[task.expression ?? ''] }, 'workflow.input');
  const cases = Object.entries(task.decisionCases ?? {}).map(
    ([key, tasks]) => [key, allEvents(workflow, tasks)] as const,
  );
  const otherwise = allEvents(workflow, task.defaultCase ?? []);
  if (value === undefined || otherwise === undefined || cases.some(([, events]) => events === undefined))
    return undefined;
  const byValue = new Map(cases);
  return (input) => (byValue.get(String(read(value, input)['value'])) ?? otherwise)(input);
}

function allEvents(workflow: string, tasks: readonly WorkflowTask[]): Events | undefined {
  const events = tasks.map((task) => eventsOf(workflow, task));
  return events.every((event) => event !== undefined)
    ? (input) => events.flatMap((produced) => produced(input))
    : undefined;
}

/** The path that each parameter refers to, relative to a root, e.g. `${workflow.input.inbound}` → `['inbound']`. */
type References = Record<string, readonly string[]>;

/** Returns the references; undefined unless every parameter is one plain reference below `root`. */
function references(parameters: Values, root: string): References | undefined {
  const entries = Object.entries(parameters).map(([key, text]) => {
    const path = typeof text === 'string' ? /^\$\{([\w-]+(?:\.[\w-]+)+)\}$/.exec(text)?.[1] : undefined;
    return [key, path?.startsWith(`${root}.`) ? path.slice(root.length + 1).split('.') : undefined] as const;
  });
  return entries.every(([, steps]) => steps !== undefined) ? (Object.fromEntries(entries) as References) : undefined;
}

/** Resolves references as the engine does: null for a missing value. */
function read(from: References, values: Values): Values {
  return Object.fromEntries(Object.entries(from).map(([key, steps]) => [key, valueAt(values, steps)]));
}

function valueAt(values: Values, steps: readonly string[]): unknown {
  let value: unknown = values;
  for (const step of steps) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as Values)[step] : null;
  }
  return value;
}

function isEmpty(values: Values): boolean {
  return Object.keys(values).length === 0;
}

function flatten(tasks: readonly WorkflowTask[]): WorkflowTask[] {
  return tasks.flatMap((task) => [
    task,
    ...flatten([
      ...Object.values(task.decisionCases ?? {}).flat(),
      ...(task.defaultCase ?? []),
      ...(task.loopOver ?? []),
      ...(task.forkTasks ?? []).flat(),
    ]),
  ]);
}
