// Starts a program of the product or of the bench as a separate process, as in production. Its output goes to a file.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeArguments, nodeEnvironment } from '#lib/process/launch-settings.ts';
import type { ReadyMessage } from '#lib/process/run-program.ts';

export const rootDir = fileURLToPath(new URL('../..', import.meta.url));

export interface ProgramOptions {
  /** Entry file, relative to the root. */
  readonly entry: string;
  /** Variables added to the environment of this process, which the program inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** The program's output is appended to `<stateDir>/logs/<name>.log`. */
  readonly stateDir: string;
  readonly name: string;
}

/** A running program. */
export interface RunningProgram {
  readonly pid: number;
  /** The addresses that the program reported when it was ready. */
  readonly ready: Readonly<Record<string, string>>;
  /** Sends a message to the program and returns the next message from it. */
  ask(message: object): Promise<unknown>;
  /** Sends SIGTERM; resolves when the program has ended. */
  stop(): Promise<void>;
}

/**
 * Starts the program, which ends when this process does.
 * @throws Error with the path of the log if the program ends before it is ready
 */
export async function startProgram({ entry, env, stateDir, name }: ProgramOptions): Promise<RunningProgram> {
  mkdirSync(join(stateDir, 'logs'), { recursive: true });
  const logFile = join(stateDir, 'logs', `${name}.log`);
  const log = openSync(logFile, 'a');
  const child = fork(join(rootDir, entry), [], {
    cwd: rootDir,
    env: { ...nodeEnvironment, ...process.env, ...env },
    execArgv: [...nodeArguments, ...profiling(name)],
    stdio: ['ignore', log, log, 'ipc'],
    // JSON cannot represent NaN.
    serialization: 'advanced',
    // In its own process group, a program does not receive Ctrl-C. Only the bench does; it ends its programs in order.
    detached: true,
  });
  closeSync(log);
  const exited = once(child, 'exit');
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => (message as ReadyMessage).ready as Record<string, string>),
    exited.then((): never => {
      throw new Error(`${entry} did not start: see ${logFile}`);
    }),
  ]);
  const ask = async (message: object) => {
    child.send(message);
    const [answer] = (await Promise.race([once(child, 'message'), exited])) as unknown[];
    if (child.exitCode !== null) throw new Error(`${entry} ended: see ${logFile}`);
    return answer;
  };
  return { pid: child.pid as number, ready, ask, stop: () => stop(child, exited) };
}

async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  await exited;
}

/** BENCH_CPU_PROFILE names a folder to which every program writes a CPU profile when it ends. */
function profiling(name: string): string[] {
  const dir = process.env['BENCH_CPU_PROFILE'];
  return dir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${dir}`, `--cpu-prof-name=${name}.cpuprofile`];
}
