// Finds mistakes in the OpenAPI file of a back end: unknown keys of path items, and references that lead to nothing.

import { Attachment } from '#lib/gc/attachment.ts';
import { isJsonObject } from '#lib/json/json-object.ts';
import { formatPath, type Path } from '#lib/conductor/definitions/json-text.ts';
import type { Components } from './openapi.ts';
import { childrenOf, findTarget, type JsonObject } from './references.ts';

/** Operations of a path item (OpenAPI 3.1, section 4.8.9 "Path Item Object"). */
const methods = ['get', 'post', 'put', 'patch', 'delete', 'options', 'head', 'trace'];

/** The other fields of a path item. */
const otherFields = ['$ref', 'summary', 'description', 'servers', 'parameters'];

const advice = `write a method (${methods.join(', ')}), ${otherFields.slice(0, -1).join(', ')} or ${otherFields.at(-1)}, or begin your own field with x-`;

/** Cache of mistakes by parsed file, because many routes can share a large file. */
const known = new Attachment<object, readonly string[]>('mistakes');

/**
 * Returns one message for each mistake, with its place. Later calls for the same object return the result of the first.
 * @param content the parsed file
 * @param own components of the router's document, to which the file may refer
 */
export function mistakesIn(content: unknown, own: Components): readonly string[] {
  if (!isJsonObject(content)) return [];
  const mistakes = known.get(content) ?? [
    ...unknownFields(content),
    ...unresolvedReferences(content, { components: own }),
  ];
  known.set(content, mistakes);
  return mistakes;
}

function unknownFields({ paths }: JsonObject): string[] {
  return entriesOf(paths)
    .filter(([path]) => !path.startsWith('x-'))
    .flatMap(([path, item]) =>
      entriesOf(item)
        .filter(([field]) => !isFieldOfPathItem(field))
        .map(([field]) => `${formatPath(['paths', path])}: "${field}" is not a field of a path item: ${advice}`),
    );
}

/** Methods may be in capitals, because the router accepts them. */
function isFieldOfPathItem(field: string): boolean {
  return methods.includes(field.toLowerCase()) || otherFields.includes(field) || field.startsWith('x-');
}

function unresolvedReferences(content: JsonObject, ownDocument: object): string[] {
  const found: string[] = [];
  // Aliases refer to the same object, possibly thousands of times.
  const visited = new Set<object>();
  /** @param base the innermost enclosing schema with an `$id`; the file when there is none */
  const visit = (value: unknown, path: Path, { isMap, base }: { isMap: boolean; base: object }): void => {
    if (typeof value !== 'object' || value === null || visited.has(value)) return;
    visited.add(value);
    if (Array.isArray(value))
      return value.forEach((item, index) => visit(item, [...path, index], { isMap: false, base }));
    const object = value as JsonObject;
    const { $ref: reference, $id: id } = isMap ? {} : object;
    const inner = typeof id === 'string' ? object : base;
    if (typeof reference === 'string' && !resolves(reference, [inner, content, ownDocument]))
      found.push(`${formatPath(path)}: there is no ${reference} in this file`);
    for (const { field, value: child, isMap: isNameMap } of childrenOf(object, isMap))
      visit(child, [...path, field], { isMap: isNameMap, base: inner });
  };
  visit(content, [], { isMap: false, base: content });
  return found;
}

/** Returns false for a JSON pointer (RFC 6901) that leads to nothing in any of the objects. */
function resolves(reference: string, objects: readonly object[]): boolean {
  return !reference.startsWith('#/') || objects.some((object) => findTarget(reference, object) !== undefined);
}

function entriesOf(value: unknown): [string, unknown][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}
