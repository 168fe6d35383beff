// Builds JSON schemas that have the types of TypeBox, without loading its 370 modules, which would take a tenth of the
// startup time.

import type { TSchema, Type as TypeBox } from 'typebox';

export type { Static } from 'typebox';

type Options = Record<string, unknown>;
type Properties = Record<string, TSchema>;
type Builders =
  | ('Array' | 'Boolean' | 'Cyclic' | 'Enum' | 'Integer' | 'Literal' | 'Null' | 'Number')
  | ('Object' | 'Optional' | 'Record' | 'Ref' | 'String' | 'Union' | 'Unknown');

/** Key that marks an optional property, as in TypeBox. It is not enumerable, so it does not appear in the schema. */
const optional = '~optional';

const ofType = (type: string) => (options?: Options) => ({ type, ...options });

/**
 * Builders that return the same schemas as TypeBox's builders of the same names. A `Record` accepts any string as a
 * key.
 */
export const Type = {
  Array: (items: TSchema, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Cyclic: ($defs: Properties, $ref: string, options?: Options) => {
    const named = Object.entries($defs).map(([$id, definition]) => [$id, { ...definition, $id }]);
    return { $defs: Object.fromEntries(named), $ref, ...options };
  },
  Enum: (values: readonly unknown[], options?: Options) => ({ enum: values, ...options }),
  Integer: ofType('integer'),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: (properties: Properties, options?: Options) => {
    const required = Object.keys(properties).filter((key) => !(optional in (properties[key] as object)));
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
  },
  Optional: (type: TSchema) => Object.defineProperty({ ...type }, optional, { value: true }),
  Record: (_keys: TSchema, values: TSchema, options?: Options) => ({
    ...{ type: 'object', patternProperties: { '^.*$': values } },
    ...options,
  }),
  Ref: ($ref: string, options?: Options) => ({ $ref, ...options }),
  String: ofType('string'),
  Union: (anyOf: readonly TSchema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
} as unknown as Pick<typeof TypeBox, Builders>;
