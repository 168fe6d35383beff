// The stack that the files of a worker share: each takes the processes that the file before it had with the same settings.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { type IdleStack, leaveIdleStack, takeIdleStack } from './idle-stack.ts';
import { assembleStack, type Stack, type StackOptions } from './stack.ts';
import { stopPart } from './stack-part.ts';

/** Its workers of all domains and of one; a test may add more. */
const usualPools = 2;

/**
 * Starts a stack whose processes stay when it stops, for the next file. Every router has the same ports, so workers stay
 * while routers change; what has other variables than before is started again.
 */
export async function shareStack(options: StackOptions): Promise<Stack> {
  const earlier = takeIdleStack() ?? (await prepareFirst());
  const { stateDir, ports } = earlier;
  return assembleStack(options, earlier, async (parts) => {
    await Promise.all(parts.workers.slice(usualPools).map(stopPart));
    leaveIdleStack({ ...parts, stateDir, ports, workers: parts.workers.slice(0, usualPools) });
  });
}

async function prepareFirst(): Promise<IdleStack> {
  const stateDir = mkdtempSync(join(tmpdir(), 'service-router-'));
  process.once('exit', () => rmSync(stateDir, { recursive: true, force: true }));
  return { stateDir, ports: { ROUTER_PORT: String(await freePort()), OPS_PORT: String(await freePort()) } };
}
