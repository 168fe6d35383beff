// The task types a workflow may use: those the engine runs inside a worker's update, none that waits for its own pollers.

/** A usable task type and the fields it cannot do without. */
export interface TaskType {
  readonly required: readonly string[];
}

/** Usable types by name. */
export const taskTypes: Readonly<Record<string, TaskType>> = {
  SIMPLE: { required: [] },
  EVENT: { required: ['sink'] },
  SWITCH: { required: ['evaluatorType', 'expression', 'decisionCases'] },
  DO_WHILE: { required: ['loopCondition', 'loopOver'] },
  INLINE: { required: ['inputParameters'] },
  JSON_JQ_TRANSFORM: { required: ['inputParameters'] },
  SET_VARIABLE: { required: ['inputParameters'] },
  TERMINATE: { required: ['inputParameters'] },
};

/** Types that need the engine's system task workers, which run with `conductor.system-task-workers.enabled=false`. */
const asynchronous = new Set([
  'HTTP',
  'JOIN',
  'FORK_JOIN',
  'FORK_JOIN_DYNAMIC',
  'SUB_WORKFLOW',
  'START_WORKFLOW',
  'WAIT',
  'KAFKA_PUBLISH',
  'JDBC',
]);

/** Why a task type cannot be used; undefined when it can. */
export function refusalOf(type: string): string | undefined {
  if (Object.hasOwn(taskTypes, type)) return undefined;
  if (asynchronous.has(type)) {
    return `${type} would never end: it needs the engine's system task workers, and they are switched off to keep the engine fast; use a worker (SIMPLE) or an event (EVENT)`;
  }
  return `${type} is no task type this product uses (${Object.keys(taskTypes).join(', ')})`;
}
