// Reads and validates a message that MDM published.

import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { expectationOf } from '#lib/json/schema-expectation.ts';

/** An update from MDM: a person's cccid, to be shared with one college. */
export interface Update {
  readonly misCode: string;
  readonly sisPersonId: string;
  readonly cccid: string;
  /** MDM's own key for the update. */
  readonly updateId: string;
}

const schemaFile = new URL('../../lib/openapi/mdm-update.schema.json', import.meta.url);
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as object;
const isUpdate = new Ajv2020({ allErrors: true }).compile<Update>(schema);

/**
 * Returns the update in a message, with only the fields that the schema defines.
 * @param body the body as `rabbitmq-client` gives it: parsed for `application/json`, otherwise text or bytes
 * @returns for an invalid update, `wrong`: a string that names the missing fields and says what the other invalid fields
 *   must be. The text contains no values
 */
export function readUpdate(body: unknown): Update | { readonly wrong: string } {
  const value = typeof body === 'string' || Buffer.isBuffer(body) ? parse(String(body)) : body;
  if (isUpdate(value)) {
    const { misCode, sisPersonId, cccid, updateId } = value;
    return { misCode, sisPersonId, cccid, updateId };
  }
  return { wrong: (isUpdate.errors ?? []).map(describe).join(', ') };
}

function describe(error: ErrorObject): string {
  const missing = error.params['missingProperty'] as string | undefined;
  if (missing !== undefined) return `${missing} is missing`;
  return error.instancePath === '' ? 'not a JSON object' : `${error.instancePath.slice(1)} ${expectationOf(error)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
