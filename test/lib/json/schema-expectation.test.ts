// Tests of the English messages for violations of a JSON Schema.

import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { expectationOf } from '#lib/json/schema-expectation.ts';

it.each([
  [{ type: 'integer' }, 'x', 'must be an integer'],
  [{ type: 'string' }, 1, 'must be a string'],
  [{ type: ['array', 'null'] }, 1, 'must be an array or null'],
  [{ const: 'javascript' }, 1, 'must be "javascript"'],
  [{ const: false }, true, 'must be false'],
  [{ enum: ['a', 'b'] }, 'c', 'must be one of a, b'],
  [{ uniqueItems: true }, ['a', 'b', 'a'], 'must not contain duplicates (items 1 and 3 are the same)'],
  [{ minimum: 3 }, 2, 'must be >= 3'],
  [{ pattern: '^[/*]' }, 'x', 'must begin with / or *'],
  [{ pattern: '^[a-z]' }, '1', 'must match pattern "^[a-z]"'],
  [{ pattern: '^[^/]' }, '/', 'must match pattern "^[^/]"'],
])('%j, %j → %s', (schema, value, message) => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(schema);
  expect(validate(value)).toBe(false);
  expect(validate.errors?.map(expectationOf)).toEqual([message]);
});
