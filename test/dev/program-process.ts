// Runs one of our entry files as a real process and waits for what it says over IPC.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReadyMessage } from '#lib/process/run-program.ts';

export interface ProgramProcess {
  readonly child: ChildProcess;
  /** What it sent when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Everything it has written so far. */
  output(): { stdout: string; stderr: string };
  /** SIGTERM, then its exit code. */
  stop(): Promise<number | null>;
}

export interface ProgramExit {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts an entry file, given relative to the repository. @throws Error with its output when it ends instead */
export async function startProgram(entry: string, env: NodeJS.ProcessEnv): Promise<ProgramProcess> {
  const { child, output, exited } = spawnProgram(entry, env);
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => (message as ReadyMessage).ready),
    exited.then((code) => Promise.reject(new Error(`${entry} ended with ${code}: ${output().stderr}`))),
  ]);
  const stop = async () => {
    child.kill('SIGTERM');
    return exited;
  };
  return { child, ready, output, stop };
}

/** Runs an entry file that is expected to end by itself. */
export async function runToExit(entry: string, env: NodeJS.ProcessEnv): Promise<ProgramExit> {
  const { output, exited } = spawnProgram(entry, env);
  const code = await exited;
  return { code, ...output() };
}

function spawnProgram(entry: string, env: NodeJS.ProcessEnv) {
  const path = fileURLToPath(new URL(`../../${entry}`, import.meta.url));
  const child = fork(path, [], { env: { PATH: process.env['PATH'], ...env }, silent: true, execArgv: [] });
  const written = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (written.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, exited, output: () => ({ ...written }) };
}
