// What error tracking does to the process it is in: nothing at all without a DSN, and no patches with one.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startIngestEndpoint } from './ingest-endpoint.ts';
import type { Observation } from './observe-process.ts';

/** Reports one error in a process of its own. */
async function observe(dsn: string): Promise<Observation> {
  const script = fileURLToPath(new URL('observe-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, dsn], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = await once(child, 'close');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Observation;
}

test('without a DSN: no Sentry or OpenTelemetry module is loaded', async () => {
  expect((await observe('')).trackerModules).toEqual([]);
});

test('with a DSN: its modules are loaded, the error is sent, and nothing of the process is patched', async () => {
  const endpoint = await startIngestEndpoint();
  const { trackerModules, patched } = await observe(endpoint.dsn);
  expect(trackerModules.length).toBeGreaterThan(0);
  expect(endpoint.events()).toHaveLength(1);
  expect(patched).toEqual([]);
  await endpoint.close();
});
