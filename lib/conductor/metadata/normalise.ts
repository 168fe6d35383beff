// Normalises definitions, so that a definition from a file can be compared with one from the engine.

import { isJsonObject } from '#lib/json/json-object.ts';
import { eventHandlerFields, taskDefFields, type ObjectFields, workflowFields } from './engine-defaults.ts';

const fieldsByKind = { workflow: workflowFields, 'task type': taskDefFields, 'event handler': eventHandlerFields };

/** The kinds of definitions, by the names that messages use. */
export type DefinitionKind = keyof typeof fieldsByKind;

/**
 * Returns the definition without the fields that the engine adds and without optional fields that have their default
 * value. The fields have the order of the schema, so equivalent definitions become equal.
 */
export function normaliseDefinition(kind: DefinitionKind, definition: unknown): unknown {
  return normalise(definition, fieldsByKind[kind]);
}

/** Returns the value with the keys of its objects in the order of `model`; additional keys come last. */
export function orderLike(value: unknown, model: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => orderLike(item, (model as unknown[] | undefined)?.[index]));
  if (!isJsonObject(value)) return value;
  const known = isJsonObject(model) ? model : {};
  const keys = orderKeys(Object.keys(value), Object.keys(known));
  return Object.fromEntries(keys.map((key) => [key, orderLike(value[key], known[key])]));
}

/** Compares JSON values; the order of keys does not matter. */
export function isEqual(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index]));
  }
  if (isJsonObject(left) && isJsonObject(right)) {
    const keys = Object.keys(left);
    return keys.length === Object.keys(right).length && keys.every((key) => isEqual(left[key], right[key]));
  }
  return left === right;
}

function normalise(value: unknown, fields: ObjectFields): unknown {
  if (Array.isArray(value)) return value.map((item) => normalise(item, fields));
  if (!isJsonObject(value)) return value;
  const required = fields.required.filter((key) => Object.hasOwn(fields.defaults, key));
  const kept: Record<string, unknown> = Object.fromEntries(required.map((key) => [key, fields.defaults[key]]));
  for (const [key, item] of Object.entries(value)) {
    if (item === null || item === undefined || fields.addedByEngine.includes(key)) continue;
    const isDefault = Object.hasOwn(fields.defaults, key) && isEqual(item, fields.defaults[key]);
    if (!isDefault || fields.required.includes(key)) kept[key] = normaliseNested(item, key, fields);
  }
  return Object.fromEntries(orderKeys(Object.keys(kept), fields.order).map((key) => [key, kept[key]]));
}

function normaliseNested(value: unknown, key: string, fields: ObjectFields): unknown {
  const nested = fields.nested?.()[key];
  if (nested === undefined) return value;
  // The branches of a SWITCH are an object with one property per case.
  if (nested.byName === true && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, normalise(item, nested.fields)]));
  }
  return normalise(value, nested.fields);
}

function orderKeys(keys: readonly string[], order: readonly string[]): string[] {
  return [...order.filter((key) => keys.includes(key)), ...keys.filter((key) => !order.includes(key))];
}
