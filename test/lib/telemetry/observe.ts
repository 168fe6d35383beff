// Runs telemetry in a separate process, to observe its effects on the process.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

export interface Observation {
  /** Number of loaded modules that belong to Sentry or OpenTelemetry. */
  readonly modules: number;
  /** Names of functions that were patched. */
  readonly patched: string[];
}

/**
 * Runs the process.
 * @param kind what the process sends: an error report or a span
 * @param address address of the receiver; empty for none
 */
export async function observe(kind: 'error' | 'span', address: string): Promise<Observation> {
  const script = fileURLToPath(new URL('observe-process.ts', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, kind, address]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Observation;
}
