// Runs telemetry in a process of its own, to see what that does to the process.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

export interface Observation {
  /** Number of loaded modules that belong to Sentry or OpenTelemetry. */
  readonly modules: number;
  /** Names of what is not as it was before. */
  readonly patched: string[];
}

/** @param kind what is used once: a report of an error, or a span @param address empty for none */
export async function observe(kind: 'error' | 'span', address: string): Promise<Observation> {
  const script = fileURLToPath(new URL('observe-process.ts', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, kind, address]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Observation;
}
