// Finds the references in an OpenAPI file and what they refer to.

import { stepsOfPointer } from '#lib/json/json-pointer.ts';

/** An object of a parsed file. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A value inside an object. */
interface Child {
  readonly field: string;
  readonly value: unknown;
  /** True when the value maps names to objects, so that its keys are not fields of OpenAPI. */
  readonly isMap: boolean;
}

/** Fields whose values are data, in which `$ref` is not a reference. */
const dataFields = new Set(['example', 'default', 'const', 'enum', 'value']);

/** Fields whose values map names to objects, so that a name such as `default` is not one of {@link dataFields}. */
const mapFields = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'],
  ...['schemas', 'responses', 'parameters', 'requestBodies', 'headers', 'securitySchemes', 'links', 'callbacks'],
  ...['pathItems', 'content', 'encoding', 'examples'],
]);

/**
 * Returns the values of an object that may be or contain references: all except data and extensions.
 * @param isMap whether the object maps names to objects
 */
export function childrenOf(object: JsonObject, isMap: boolean): Child[] {
  return Object.entries(object)
    .filter(([field, value]) => isMap || !isData(field, value))
    .map(([field, value]) => ({ field, value, isMap: !isMap && mapFields.has(field) }));
}

/** The examples of a schema are a list of data; those of a media type or parameter are objects, by name. */
function isData(field: string, value: unknown): boolean {
  return dataFields.has(field) || field.startsWith('x-') || (field === 'examples' && Array.isArray(value));
}

/**
 * Returns the value to which a JSON pointer (RFC 6901) in the fragment of a reference leads; undefined when it leads to
 * nothing.
 * @param reference a reference that begins with `#/`
 */
export function findTarget(reference: string, document: object): unknown {
  let value: unknown = document;
  for (const step of stepsOfPointer(decode(reference))) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as JsonObject)[step];
  }
  return value;
}

/** Returns the percent-decoded text, or the unchanged text when it cannot be decoded. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
