// Errors of a JSON Schema as sentences, each with the path of the value that it is about.

import type { ErrorObject } from 'ajv';
import { type Path, pathOfPointer } from '#lib/conductor/definitions/json-text.ts';

export interface SchemaError {
  readonly path: Path;
  /** Of the value, when the message is about one of its keys. */
  readonly key?: string;
  readonly message: string;
}

/**
 * @param errors of Ajv with `allErrors`. A union reports every branch: only the deepest complaints are kept
 * @param unknown what a key that the schema does not name is called
 */
export function schemaErrors(errors: readonly ErrorObject[], unknown = 'key'): SchemaError[] {
  return errors
    .filter(({ keyword }) => keyword !== 'anyOf')
    .map(({ instancePath, params, message }) => {
      const path = pathOfPointer(instancePath);
      const extra = params['additionalProperty'] as string | undefined;
      if (extra !== undefined) return { path, key: extra, message: `unknown ${unknown} "${extra}"` };
      const missing = params['missingProperty'] as string | undefined;
      if (missing !== undefined) return { path, message: `"${missing}" is missing` };
      const allowed = params['allowedValues'] as unknown[] | undefined;
      return { path, message: `${message}${allowed === undefined ? '' : ` (${allowed.join(', ')})`}` };
    });
}
