// A cache of compiled JSON Schema validators for policy parameters: compiling is slow, so reloads reuse the validators.

import { Ajv, type ValidateFunction } from 'ajv';
import type { PolicyDeclaration } from '../plugin-api/policy.ts';

// Validators are compiled at each start of a router and run only a few times, so neither validation of the schemas
// against the meta-schema nor code optimisation would pay off.
const ajv = new Ajv({
  allErrors: true,
  useDefaults: true,
  strict: false,
  validateSchema: false,
  code: { optimize: false },
});
/** Compiled validators by `$id` of their schema, with the schema text. */
const compiled = new Map<string, { text: string; check: ValidateFunction }>();

/** Returns the validator for a policy's parameters. It fills in defaults and rejects unknown parameters. */
export function parameterCheck({ $id, ...schema }: PolicyDeclaration['schema']): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = compiled.get($id);
  if (known?.text === text) return known.check;
  const check = ajv.compile({ ...schema, additionalProperties: false });
  compiled.set($id, { text, check });
  return check;
}
