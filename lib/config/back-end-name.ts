// Names of plain back ends: part of configuration keys and task types.

/** Regular expression of a back end's name, without anchors. No underscore: an environment variable writes `-` as `_`. */
export const backEndNamePattern = '[a-z][a-z0-9-]{0,47}';

const backEndName = new RegExp(`^${backEndNamePattern}$`);

/** Returns true for a text that may be the name of a back end. */
export function isBackEndName(value: string): boolean {
  return backEndName.test(value);
}

/** Returns the task type whose tasks are requests to a back end. */
export function taskTypeOfBackEnd(name: string): string {
  return `${name}_intake`;
}
