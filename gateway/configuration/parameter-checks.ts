// The checks of policies' parameters, compiled once: that takes milliseconds, and each reload brings the same schemas again.

import { Ajv, type ValidateFunction } from 'ajv';
import type { PolicyDeclaration } from '../plugin-api/policy.ts';

const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false });
/** By the schema's `$id`, with the text it was compiled from. */
const compiled = new Map<string, { text: string; check: ValidateFunction }>();

/** The check for a policy's parameters, which fills in their defaults and refuses those that the schema does not name. */
export function parameterCheck({ $id, ...schema }: PolicyDeclaration['schema']): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = compiled.get($id);
  if (known?.text === text) return known.check;
  const check = ajv.compile({ ...schema, additionalProperties: false });
  compiled.set($id, { text, check });
  return check;
}
