// Compares a definition with what the engine has, past the fields the engine adds by itself.

import { type Path, formatPath } from '../definitions/json-text.ts';
import { eventHandlerShape, taskDefShape, type Shape, workflowShape } from './materialised.ts';

/** One place where file and engine differ; a side that has nothing there is undefined. */
export interface Difference {
  /** `tasks[0].inputParameters.inbound` */
  readonly path: string;
  readonly file: unknown;
  readonly engine: unknown;
}

const shapes = { workflow: workflowShape, 'task type': taskDefShape, 'event handler': eventHandlerShape };

/** The kinds of definitions, in the words people read. */
export type DefinitionKind = keyof typeof shapes;

/** Every difference; none when the engine's definition means the same as the file's. */
export function compareDefinition(kind: DefinitionKind, file: unknown, engine: unknown): Difference[] {
  const shape = shapes[kind];
  return differences(strip(file, shape), strip(engine, shape), []);
}

/** Leaves out what the engine notes, and what says no more than its default. */
function strip(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return value.map((item) => strip(item, shape));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, item]) => {
    if (item === null || item === undefined || shape.noted.includes(key)) return false;
    return !Object.hasOwn(shape.defaults, key) || !isEqual(item, shape.defaults[key]);
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, stripNested(item, key, shape)]));
}

function stripNested(value: unknown, key: string, shape: Shape): unknown {
  const nested = shape.nested?.()[key];
  if (nested === undefined) return value;
  // A SWITCH keeps its branches in an object by case.
  if (nested.byName === true && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, strip(item, nested.shape)]));
  }
  return strip(value, nested.shape);
}

function differences(file: unknown, engine: unknown, path: Path): Difference[] {
  if (Array.isArray(file) && Array.isArray(engine)) {
    const longest = Math.max(file.length, engine.length);
    return Array.from({ length: longest }, (_, index) => index).flatMap((index) =>
      differences(file[index], engine[index], [...path, index]),
    );
  }
  if (isObject(file) && isObject(engine)) {
    const keys = [...new Set([...Object.keys(file), ...Object.keys(engine)])];
    return keys.flatMap((key) => differences(file[key], engine[key], [...path, key]));
  }
  return isEqual(file, engine) ? [] : [{ path: formatPath(path), file, engine }];
}

function isEqual(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isEqual(item, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    const keys = Object.keys(left);
    return keys.length === Object.keys(right).length && keys.every((key) => isEqual(left[key], right[key]));
  }
  return left === right;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
