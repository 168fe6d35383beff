// Redaction of log fields that may hold credentials or personal data, should code log them by mistake.

/** Field names that are redacted, at the top level of a line and one level below. */
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
 * Returns the fields with redacted values; the same object when nothing is redacted. pino's own redaction is not used:
 * with a wildcard path it takes most of the time of a line (16 of 20 µs).
 */
export function redact(fields: Record<string, unknown>): Record<string, unknown> {
  return censored(fields, (value) => (isFields(value) ? censored(value) : value));
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

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
