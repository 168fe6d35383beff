// Defines the allowed task types: SIMPLE, and system tasks that the engine executes without its system task workers.

/** An allowed task type with its required fields. */
export interface TaskType {
  readonly required: readonly string[];
}

/** Allowed types by name. */
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

/**
 * Types that need the engine's system task workers, which the product's engine settings turn off
 * (`conductor.system-task-workers.enabled=false`).
 */
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

/** Returns true for a type whose tasks the engine executes itself. */
export function isSystemTask(type: string): boolean {
  return asynchronous.has(type) || (type !== 'SIMPLE' && Object.hasOwn(taskTypes, type));
}

/** Returns the reason why a task type is not allowed; undefined when it is allowed. */
export function problemOfTaskType(type: string): string | undefined {
  if (Object.hasOwn(taskTypes, type)) return undefined;
  if (asynchronous.has(type)) {
    return `${type} would never end: it needs the engine's system task workers, which are switched off to keep the engine fast; use a worker (SIMPLE) or an event (EVENT)`;
  }
  return `${type} is not a task type that this product uses (${Object.keys(taskTypes).join(', ')})`;
}
