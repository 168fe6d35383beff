// Redacts log fields that may hold credentials or personal data, in case code logs them by mistake.

import { isJsonObject } from '#lib/json/json-object.ts';

/** Names of the fields whose values are redacted, at the top level of a line and one level below. */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'password',
  'client_secret',
  'clientSecret',
  'keySecret',
  'access_token',
  'token',
  'body',
  'cccid',
]);
const censor = '[redacted]';

/**
 * Returns the fields with sensitive values redacted, or the same object when nothing is redacted. pino's own redaction
 * is not used: with a wildcard path, it would account for 16 of the 20 µs needed to log a line.
 */
export function redact(fields: Record<string, unknown>): Record<string, unknown> {
  return censored(fields, (value) => (isJsonObject(value) ? censored(value) : value));
}

function censored(
  fields: Record<string, unknown>,
  below: (value: unknown) => unknown = (value) => value,
): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const shown = value !== undefined && secretNames.has(name) ? censor : below(value);
    if (shown !== value) (copy ??= { ...fields })[name] = shown;
  }
  return copy ?? fields;
}
