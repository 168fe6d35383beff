// Tests of the effects of error tracking on its process: none without a DSN, and no patched functions with one.

import { expect, test } from 'vitest';
import { observe } from '../observe.ts';
import { startIngestEndpoint } from './ingest-endpoint.ts';

test('without a DSN: no Sentry or OpenTelemetry module is loaded', async () => {
  expect((await observe('error', '')).modules).toBe(0);
});

test('with a DSN: Sentry modules are loaded, the error is sent, and no function is patched', async () => {
  const endpoint = await startIngestEndpoint();
  const { modules, patched } = await observe('error', endpoint.dsn);
  expect(modules).toBeGreaterThan(0);
  expect(endpoint.events()).toHaveLength(1);
  expect(patched).toEqual([]);
  await endpoint.close();
});
