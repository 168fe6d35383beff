// Validates the names of plain back ends, which are part of configuration keys and task types.

/**
 * Regular expression for the name of a back end, without anchors. Underscores are not allowed, because `_` stands for
 * `-` in the name of an environment variable.
 */
export const backEndNamePattern = '[a-z][a-z0-9-]{0,47}';

const backEndName = new RegExp(`^${backEndNamePattern}$`);

/** Returns true for a valid name of a back end. */
export function isBackEndName(value: string): boolean {
  return backEndName.test(value);
}

/** Returns the task type whose tasks are requests to a back end. */
export function taskTypeOfBackEnd(name: string): string {
  return `${name}_intake`;
}
