// Tests of scrubbing error messages: which parts are removed, and which stay readable.

import { expect, test } from 'vitest';
import { scrubText } from '#lib/telemetry/error-tracking/scrub-text.ts';

test.each([
  ['Bearer abc.def', 'Bearer [removed]'],
  ['basic dXNlcjpwYXNz end', 'basic [removed] end'],
  ['token eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.', 'token [removed]'],
  ['mail to ana.silva@student.example now', 'mail to [removed] now'],
  ['GET /movies/x?token=1&b=2 failed', 'GET /movies/x?[removed] failed'],
  ['client_secret=hunter2&grant_type=x', 'client_secret=[removed]&grant_type=[removed]'],
  ['unexpected {"cccid":"ABK7021"} here', 'unexpected {"[removed]":"[removed]"} here'],
  ['an open quotation "and all that follows', 'an open quotation "[removed]"'],
  ['/mock/colleges/001/persons/B00417733/x', '/mock/colleges/001/persons/[removed]/x'],
  ['id 0318204 and 1234', 'id [removed] and 1234'],
  ['no response within 150000 ms', 'no response within 150000 ms'],
  ['more than 8388608 bytes, id 0318204 msx', 'more than 8388608 bytes, id [removed] msx'],
  ['cccid ABK7021 taken', 'cccid [removed] taken'],
  ['key sk_live_4eC39HqLyjWDarjtT1', 'key [removed]'],
  ['base64 Zm9vYmFyYmF6cXV4Zm9v/Zm9vYmFyYmF6cXV4+Zm9v', 'base64 [removed]'],
  ['from 203.0.113.77', 'from [removed]'],
])('%s → %s', (text, expected) => {
  expect(scrubText(text)).toBe(expected);
});

test.each([
  "Cannot read properties of undefined (reading 'workflowId')",
  'execution 0d3f8b52-6a4e-4c1b-9d7e-2f5a1b3c4d5e of college-adaptorWF failed with 502',
  'college-adaptor_intake: back-end-bad-answer after 3 tries',
  'connect ECONNREFUSED 127.0.0.1:8082',
])('leaves %s unchanged', (text) => {
  expect(scrubText(text)).toBe(text);
});

test('a long text is truncated, and no part of a secret survives at the cut', () => {
  const text = `${'word '.repeat(399)}${'sk4'.repeat(30)}`;
  expect(scrubText(text).length).toBeLessThanOrEqual(501);
  expect(scrubText(`${'"x" '.repeat(10)}${'y'.repeat(1955)}sk4eC39HqLyjWDarjtT1`)).not.toContain('sk4');
});

test('a megabyte of hostile text is scrubbed quickly', () => {
  const start = performance.now();
  for (const text of ['a'.repeat(1e6), 'a@'.repeat(5e5), 'eyJ.'.repeat(25e4), '"'.repeat(1e6), '1.'.repeat(5e5)]) {
    scrubText(text);
  }
  expect(performance.now() - start, 'milliseconds; quadratic time would take minutes').toBeLessThan(10_000);
});
