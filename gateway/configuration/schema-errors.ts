// Converts errors of the JSON Schema validator Ajv to readable messages, each with the path of the invalid value.

import type { ErrorObject } from 'ajv';
import { type Path, pathOfPointer } from '#lib/conductor/definitions/json-text.ts';
import { expectationOf } from '#lib/json/schema-expectation.ts';

/** One violation of a JSON Schema, worded for operators. */
export interface SchemaError {
  readonly path: Path;
  /** The key, within the value at `path`, that the message is about; absent when the message is about the value. */
  readonly key?: string;
  readonly message: string;
}

/**
 * Converts Ajv errors.
 * @param errors from Ajv with `allErrors`; for a union (`anyOf`), only errors of the branch whose type fits are kept
 * @param unknown noun for an unknown key in messages; default `key`
 */
export function schemaErrors(errors: readonly ErrorObject[], unknown = 'key'): SchemaError[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  return errors
    .filter((error) => error.keyword !== 'anyOf' && !unions.some((union) => isOfOtherBranch(error, union, errors)))
    .map((error) => {
      const { instancePath, params } = error;
      const path = pathOfPointer(instancePath);
      const extra = params['additionalProperty'] as string | undefined;
      if (extra !== undefined) return { path, key: extra, message: `unknown ${unknown} "${extra}"` };
      const missing = params['missingProperty'] as string | undefined;
      if (missing !== undefined) return { path, message: `"${missing}" is missing` };
      return { path, message: [expectationOf(error), ...otherTypes(error, unions, errors)].join(' or ') };
    });
}

/**
 * For a `const` error in a branch of a union, returns the types that the other branches accept, so that the message
 * names all alternatives. Returns an empty list for any other error.
 */
function otherTypes(
  { keyword, instancePath, schemaPath }: ErrorObject,
  unions: readonly ErrorObject[],
  errors: readonly ErrorObject[],
): string[] {
  const isAtUnion = unions.some((union) => union.instancePath === instancePath);
  if (keyword !== 'const' || !isAtUnion) return [];
  const ownType = schemaPath.replace(/const$/, 'type');
  return errors
    .filter((other) => other.keyword === 'type' && other.instancePath === instancePath && other.schemaPath !== ownType)
    .map((other) => expectationOf(other).replace(/^must be /, ''));
}

/**
 * Returns true when the error comes from a union branch that is meant for values of another type. Returns false when no
 * branch is meant for the type of the value.
 */
function isOfOtherBranch(error: ErrorObject, { instancePath }: ErrorObject, errors: readonly ErrorObject[]): boolean {
  const { keyword } = error;
  if (error.instancePath !== instancePath || !['type', 'enum', 'const'].includes(keyword)) return false;
  if (errors.some((other) => other.instancePath.startsWith(`${instancePath}/`))) return true;
  const own = errors.filter((other) => other.instancePath === instancePath && other.keyword !== 'anyOf');
  // The value has the type of a branch, but unknown or missing keys.
  if (own.some((other) => other.keyword === 'additionalProperties' || other.keyword === 'required')) return true;
  return keyword === 'type' && own.some((other) => other.keyword !== 'type');
}
