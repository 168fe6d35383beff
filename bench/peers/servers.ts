// Starts the compared systems as child processes: third-party servers, and the programs in bench/peers/programs/.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { engineEnvironment } from '../../dev/engine/engine-arguments.ts';
import { startChild } from '../../dev/stack/child.ts';
import { openProgramLog } from '../../dev/stack/program-log.ts';
import { type RunningProgram, startProgram } from '../programs/program.ts';
import type { Run } from '../run.ts';

export interface ServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves to true when the server is ready; a rejection counts as false. */
  readonly isReady: () => Promise<boolean>;
}

const startDeadlineMs = 90_000;

/**
 * Starts a server and stops it when the run ends. Returns its process id.
 * @throws Error with the last lines of its log
 */
export async function startServer(run: Run, options: ServerOptions): Promise<number> {
  const { name, command, args = [], env, isReady } = options;
  const output = openProgramLog({ stateDir: run.stateDir, program: name });
  const child = startChild({
    ...{ command, args, output, cwd: run.stateDir, env: { ...engineEnvironment(process.env), ...env } },
    async waitUntilReady(signal) {
      const deadline = performance.now() + startDeadlineMs;
      while (!(await isReady().catch(() => false))) {
        if (performance.now() > deadline) throw new Error(`did not respond within ${startDeadlineMs / 1_000} s`);
        await delay(50, undefined, { signal });
      }
      return {};
    },
  });
  run.onEnd(() => child.stop());
  try {
    await child.ready;
  } catch (error) {
    throw new Error([`${name}: ${(error as Error).message}`, ...output.lastLines()].join('\n  '), { cause: error });
  }
  return child.pid as number;
}

/**
 * Starts a program in bench/peers/programs/ and stops it when the run ends.
 * @throws Error with the first lines of its log
 */
export async function startPeerProgram(
  run: Run,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const { stateDir } = run;
  const entry = `bench/peers/programs/${name}.mjs`;
  const program = await startProgram({ name, entry, env, stateDir }).catch((error: unknown): never => {
    // The log is deleted when the run ends, so the error quotes it.
    const lines = readFileSync(join(stateDir, 'logs', `${name}.log`), 'utf8').split('\n');
    throw new Error(`${entry} did not start: ${lines.slice(0, 5).join(' ')}`, { cause: error });
  });
  run.onEnd(() => program.stop());
  return program;
}
