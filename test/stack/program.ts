// Starts one of the product's programs as a real process and waits until it is ready.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeArguments, nodeEnvironment } from '#lib/process/launch-settings.ts';
import type { ReadyMessage } from '#lib/process/run-program.ts';
import { compileCache } from './compile-cache.ts';

/** A program that ended before it was ready. */
export class ProgramFailed extends Error {
  readonly exitCode: number | null;
  readonly output: string;
  constructor(entry: string, exitCode: number | null, output: string) {
    super(`${entry} ended with ${exitCode} before it was ready:\n${output}`);
    this.exitCode = exitCode;
    this.output = output;
  }
}

/** Programs that this process has started and that have not ended. */
const running = new Set<Program>();

/** Kills every program that this process has started except these; a failed test may have left some running. */
export async function killProgramsExcept(kept: readonly Program[]): Promise<void> {
  await Promise.all([...running].filter((program) => !kept.includes(program)).map((program) => program.kill()));
}

const rootDir = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the environment of a program under test: `env` and a few variables of this machine. No other variables of the
 * machine may leak into it.
 */
function cleanEnvironment(env: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, JAVA_HOME, XDG_CACHE_HOME } = process.env;
  return {
    PATH,
    HOME,
    XDG_CACHE_HOME,
    ...compileCache,
    ...nodeEnvironment,
    ...(JAVA_HOME === undefined ? {} : { JAVA_HOME }),
    ...env,
  };
}

/**
 * Starts `entry` (a path below the root) with only `env` and a few variables of this machine in its environment.
 * @throws ProgramFailed when the program ends before it is ready
 */
export async function startProgram(entry: string, env: Record<string, string> = {}, cwd = rootDir) {
  const child = fork(resolve(rootDir, entry), [], {
    cwd,
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [...nodeArguments],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => (message as ReadyMessage).ready as Record<string, string>),
    exited.then((code): never => {
      throw new ProgramFailed(entry, code, output);
    }),
  ]);
  const program = {
    process: child,
    /** The addresses that the program reported when it was ready. */
    ready,
    /** Returns the output so far, or since {@link Program.forgetOutput}. */
    output: () => output,
    /** Forgets the output, so that the next suite that uses the program reads only its own. */
    forgetOutput() {
      output = '';
    },
    isAlive,
    /** Sends SIGTERM and returns the exit code. */
    async stop() {
      if (isAlive()) child.kill('SIGTERM');
      return exited;
    },
    /** Kills the program without a chance to clean up. */
    async kill() {
      if (isAlive()) child.kill('SIGKILL');
      await exited;
    },
  };
  running.add(program);
  void exited.then(() => running.delete(program));
  return program;
}

export type Program = Awaited<ReturnType<typeof startProgram>>;
