// Replaces the local references of a back end's OpenAPI file with what they refer to, except for references to
// `components.schemas`: only schemas become components of the router's document.

import { childrenOf, findTarget, type JsonObject } from './references.ts';

const schemaReference = '#/components/schemas/';

/** Replaces references in a value of a file. */
export class ReferenceInliner {
  readonly #file: JsonObject;
  readonly #inlined = new Map<object, unknown>();
  /** Objects that contain the current value, directly or through references. */
  readonly #active = new Set<object>();

  /** @param file the parsed file, in which references are resolved */
  constructor(file: JsonObject) {
    this.#file = file;
  }

  /**
   * Returns a value without local references. References that lead to nothing remain.
   * @param isMap whether the value maps names to objects
   * @throws Error for a reference that leads back to an object that contains it
   */
  inline(value: unknown, isMap = false): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#inlined.get(value);
    if (known !== undefined) return known;
    // An alias inside the value of its own anchor.
    if (this.#active.has(value)) return value;
    this.#active.add(value);
    const inlined = Array.isArray(value)
      ? value.map((item) => this.inline(item))
      : this.#inlineObject(value as JsonObject, isMap);
    this.#active.delete(value);
    this.#inlined.set(value, inlined);
    return inlined;
  }

  #inlineObject(object: JsonObject, isMap: boolean): unknown {
    const { $ref: reference, $id: id } = isMap ? {} : object;
    // References in this schema are relative to its own id.
    if (typeof id === 'string') return object;
    const children = childrenOf(object, isMap).map(({ field, value, isMap: isNameMap }) => [
      field,
      this.inline(value, isNameMap),
    ]);
    const inlined = { ...object, ...(Object.fromEntries(children) as JsonObject) };
    if (typeof reference !== 'string' || !reference.startsWith('#/') || reference.startsWith(schemaReference))
      return inlined;
    const { $ref: _replaced, ...siblings } = inlined;
    return this.#follow(reference, siblings) ?? inlined;
  }

  /**
   * Returns the target of a reference. Siblings of the reference, such as `description`, take precedence over fields of
   * the target (OpenAPI 3.1, 4.8.23).
   */
  #follow(reference: string, siblings: JsonObject): unknown {
    const target = findTarget(reference, this.#file);
    if (typeof target !== 'object' || target === null) return target;
    if (this.#active.has(target))
      throw new Error(`${reference} refers to itself: move the schema to components.schemas, and refer to it there`);
    const inlined = this.inline(target);
    return Array.isArray(inlined) ? inlined : { ...(inlined as JsonObject), ...siblings };
  }
}
