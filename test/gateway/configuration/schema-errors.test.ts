// Tests of the messages about values that violate a union.

import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { Type } from '#lib/json/json-schema.ts';
import { schemaErrors } from '../../../gateway/configuration/schema-errors.ts';

const union = Type.Union([
  Type.Literal(false),
  Type.Object({ overBytes: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
]);

it.each([
  [true, ['must be false or an object']],
  [5, ['must be false or an object']],
  [{ overByte: 5 }, ['unknown key "overByte"']],
  [{ overBytes: 'x' }, ['must be an integer']],
])('false or an object, %j → %j', (value, messages) => {
  const validate = new Ajv({ allErrors: true }).compile(union);
  expect(validate(value)).toBe(false);
  expect(schemaErrors(validate.errors ?? []).map(({ message }) => message)).toEqual(messages);
});
