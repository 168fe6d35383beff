// Tests of redacting fields that hold credentials or personal data, at the top level of a log line and one level down.

import { expect, it } from 'vitest';
import { redact } from '#lib/telemetry/logging/redact.ts';

it('redacts sensitive fields at the top level of a line', () => {
  const fields = { route: 'movies', token: 'eyJ…', cccid: 'AAA1234', body: Buffer.from('{}'), status: 200 };
  expect(redact(fields)).toEqual({
    route: 'movies',
    token: '[redacted]',
    cccid: '[redacted]',
    body: '[redacted]',
    status: 200,
  });
  expect(fields.token, 'the given fields are not modified').toBe('eyJ…');
});

it('redacts sensitive fields one level down, and nothing else there', () => {
  const fields = { request: { method: 'GET', authorization: 'Bearer x', password: null }, cause: { error: 'reset' } };
  expect(redact(fields)).toEqual({
    request: { method: 'GET', authorization: '[redacted]', password: '[redacted]' },
    cause: { error: 'reset' },
  });
  expect(fields.request.authorization).toBe('Bearer x');
});

it('does not copy a line without sensitive fields', () => {
  const fields = { route: 'movies', clientId: 'demo', list: ['token'], none: null, absent: undefined };
  expect(redact(fields)).toBe(fields);
});
