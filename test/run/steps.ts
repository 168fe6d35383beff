// Runs the steps of a run as child processes that share the machine's cores, and returns their results.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { compileCache } from '../stack/compile-cache.ts';

export interface Step {
  readonly title: string;
  /** Script to run with this Node, and its arguments. */
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface EndedStep {
  readonly title: string;
  readonly isOk: boolean;
  readonly seconds: number;
}

/**
 * Runs a step in the folder `dir` and prints its output line by line, because the output of several steps is
 * interleaved. Never rejects.
 */
export async function runStep({ title, command, env = {} }: Step, dir: string): Promise<EndedStep> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...command], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...compileCache, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}), ...env },
  });
  printLines(child.stdout, process.stdout);
  printLines(child.stderr, process.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = (performance.now() - startedAt) / 1_000;
  process.stdout.write(`── ${title}: ${code === 0 ? 'ok' : 'failed'} in ${Math.round(seconds)} s\n`);
  return { title, isOk: code === 0, seconds };
}

function printLines(source: Readable, target: NodeJS.WritableStream): void {
  createInterface({ input: source }).on('line', (line) => target.write(`${line}\n`));
}
