// What a definition alone says of its executions: the first task's input, what follows it, and when its end is theirs.

/** The parts of a workflow definition that say what follows what; names are Conductor's own. */
export interface WorkflowTask {
  name: string;
  taskReferenceName: string;
  type: string;
  optional?: boolean;
  inputParameters?: Record<string, unknown>;
  sink?: string;
  evaluatorType?: string;
  expression?: string;
  decisionCases?: Record<string, WorkflowTask[]>;
  defaultCase?: WorkflowTask[];
  loopOver?: WorkflowTask[];
  forkTasks?: WorkflowTask[][];
}

export interface WorkflowDefinition {
  name: string;
  tasks: WorkflowTask[];
  outputParameters?: Record<string, unknown>;
}

export type Values = Record<string, unknown>;

/** Worked out once for each definition. */
export interface WorkflowMetadata {
  /** Task types (SIMPLE) in the order of the definition. */
  readonly taskTypes: readonly string[];
  /** The first task, when it is a SIMPLE one. */
  readonly first: FirstTask | undefined;
}

/** A SIMPLE task that every execution of a definition begins with. */
export interface FirstTask {
  readonly taskType: string;
  readonly referenceName: string;
  /** Its input, from the workflow's; absent when only the engine can work it out. */
  readonly inputOf: ((workflowInput: Values) => Values) | undefined;
  /** Present when the execution completes with this task, in the same step of the engine. */
  readonly last: LastTask | undefined;
}

/** What the completion of such a task settles. */
export interface LastTask {
  /** The workflow's output, from the task's. */
  readonly outputOf: (taskOutput: Values) => Values;
  /** Events that the engine publishes then, from the workflow's input: `conductor:<workflow>:<sink>`. */
  readonly eventsOf: (workflowInput: Values) => string[];
}

/** Reads a definition. What it cannot be sure of is absent from the outline. */
export function workflowMetadataOf({ name, tasks, outputParameters = {} }: WorkflowDefinition): WorkflowMetadata {
  const simple = flatten(tasks).filter(({ type }) => type === 'SIMPLE');
  return {
    taskTypes: [...new Set(simple.map((task) => task.name))],
    first:
      tasks[0]?.type === 'SIMPLE' ? firstTask(name, tasks[0], { rest: tasks.slice(1), outputParameters }) : undefined,
  };
}

function firstTask(
  workflow: string,
  task: WorkflowTask,
  { rest, outputParameters }: { rest: readonly WorkflowTask[]; outputParameters: Values },
): FirstTask {
  const { name: taskType, taskReferenceName: referenceName, inputParameters = {} } = task;
  const input = references(inputParameters, 'workflow.input');
  const output = references(outputParameters, `${referenceName}.output`);
  const events = rest.map((next) => eventsOf(workflow, next));
  const settled = task.optional !== true && output !== undefined && events.every((event) => event !== undefined);
  return {
    taskType,
    referenceName,
    inputOf: input && ((workflowInput) => read(input, workflowInput)),
    last: settled
      ? {
          outputOf: (taskOutput) => read(output, taskOutput),
          eventsOf: (workflowInput) => events.flatMap((produced) => produced(workflowInput)),
        }
      : undefined,
  };
}

type Events = (workflowInput: Values) => string[];

/**
 * What a task publishes that the engine runs in the same step and that cannot change how the execution ends: an
 * optional EVENT, or a SWITCH by value over such tasks. Undefined for every other task.
 */
function eventsOf(workflow: string, task: WorkflowTask): Events | undefined {
  if (task.type === 'EVENT') {
    const [system, sink] = (task.sink ?? '').split(':');
    if (task.optional !== true || system !== 'conductor') return undefined;
    return () => [`conductor:${workflow}:${sink}`];
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

/** The steps behind a root that each parameter names, e.g. `${workflow.input.inbound}` → `['inbound']`. */
type References = Record<string, readonly string[]>;

/** Undefined when some parameter is anything but one plain reference below `root`. */
function references(parameters: Values, root: string): References | undefined {
  const entries = Object.entries(parameters).map(([key, text]) => {
    const path = typeof text === 'string' ? /^\$\{([\w-]+(?:\.[\w-]+)+)\}$/.exec(text)?.[1] : undefined;
    return [key, path?.startsWith(`${root}.`) ? path.slice(root.length + 1).split('.') : undefined] as const;
  });
  return entries.every(([, steps]) => steps !== undefined) ? (Object.fromEntries(entries) as References) : undefined;
}

/** What the engine would put in place of the references: null for what is not there. */
function read(from: References, values: Values): Values {
  return Object.fromEntries(Object.entries(from).map(([key, steps]) => [key, stepInto(values, steps)]));
}

function stepInto(values: Values, steps: readonly string[]): unknown {
  let value: unknown = values;
  for (const step of steps) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as Values)[step] : null;
  }
  return value;
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
