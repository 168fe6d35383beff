// A definition as a file would say it, whether it comes from a file or from the engine.

import { eventHandlerShape, taskDefShape, type Shape, workflowShape } from './engine-defaults.ts';

const shapes = { workflow: workflowShape, 'task type': taskDefShape, 'event handler': eventHandlerShape };

/** The kinds of definitions, in the words people read. */
export type DefinitionKind = keyof typeof shapes;

/**
 * Leaves out what the engine notes and what says no more than its default, unless a file has to say it; the fields
 * come in the order of the schema. Two definitions that mean the same become equal.
 */
export function normaliseDefinition(kind: DefinitionKind, definition: unknown): unknown {
  return normalise(definition, shapes[kind]);
}

/** The text of a definition's file. */
export function formatDefinition(kind: DefinitionKind, definition: unknown): string {
  return `${JSON.stringify(normaliseDefinition(kind, definition), null, 2)}\n`;
}

/** The same value with the keys of its objects in the order in which `model` has them; keys it has not come last. */
export function orderLike(value: unknown, model: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => orderLike(item, (model as unknown[] | undefined)?.[index]));
  if (!isObject(value)) return value;
  const known = isObject(model) ? model : {};
  const keys = orderKeys(Object.keys(value), Object.keys(known));
  return Object.fromEntries(keys.map((key) => [key, orderLike(value[key], known[key])]));
}

/** The same value, whatever the order of keys. */
export function isEqual(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    const keys = Object.keys(left);
    return keys.length === Object.keys(right).length && keys.every((key) => isEqual(left[key], right[key]));
  }
  return left === right;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function normalise(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return value.map((item) => normalise(item, shape));
  if (!isObject(value)) return value;
  const written = shape.written.filter((key) => Object.hasOwn(shape.defaults, key));
  const kept: Record<string, unknown> = Object.fromEntries(written.map((key) => [key, shape.defaults[key]]));
  for (const [key, item] of Object.entries(value)) {
    if (item === null || item === undefined || shape.noted.includes(key)) continue;
    const isDefault = Object.hasOwn(shape.defaults, key) && isEqual(item, shape.defaults[key]);
    if (!isDefault || shape.written.includes(key)) kept[key] = normaliseNested(item, key, shape);
  }
  return Object.fromEntries(orderKeys(Object.keys(kept), shape.order).map((key) => [key, kept[key]]));
}

function normaliseNested(value: unknown, key: string, shape: Shape): unknown {
  const nested = shape.nested?.()[key];
  if (nested === undefined) return value;
  // A SWITCH keeps its branches in an object by case.
  if (nested.byName === true && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, normalise(item, nested.shape)]));
  }
  return normalise(value, nested.shape);
}

function orderKeys(keys: readonly string[], order: readonly string[]): string[] {
  return [...order.filter((key) => keys.includes(key)), ...keys.filter((key) => !order.includes(key))];
}
