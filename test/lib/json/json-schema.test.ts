// Tests that the JSON Schema builders return the same schemas as TypeBox for the same calls.

import { Type as TypeBox } from 'typebox';
import { expect, it } from 'vitest';
import { Type } from '#lib/json/json-schema.ts';

const description = 'what it is';
const build = (type: typeof Type) => ({
  scalars: [
    [type.Boolean({ description }), type.Integer({ minimum: 1 }), type.Number(), type.Null(), type.Unknown()],
    [type.String({ pattern: '^x$' }), type.Literal('x'), type.Literal(1, { description }), type.Enum(['a', 'b'])],
  ],
  lists: [type.Array(type.String(), { minItems: 1 }), type.Union([type.Integer(), type.Null()], { description })],
  record: type.Record(type.String(), type.Integer(), { description }),
  object: type.Object({ a: type.Optional(type.String()), b: type.Integer() }, { additionalProperties: false }),
  optional: type.Object({ a: type.Optional(type.Object({ b: type.Null() })) }),
  cyclic: type.Cyclic({ Node: type.Object({ next: type.Optional(type.Ref('Node')) }) }, 'Node'),
});

it('builds the same schemas as TypeBox', () => {
  const text = (value: unknown) => JSON.stringify(value, null, 2);
  expect(text(build(Type))).toBe(text(build(TypeBox)));
});
