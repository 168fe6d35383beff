// Runs the CLI as operators do: as a process, with nothing in its environment but what the test gives.

import { type ChildProcess, execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface CliResult {
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
}

/** A verb that may still run. */
export interface StartedCli {
  readonly process: ChildProcess;
  readonly result: Promise<CliResult>;
}

export const cliEntry = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

export function startCli(args: readonly string[], env: Record<string, string> = {}): StartedCli {
  const { PATH, HOME } = process.env;
  const { promise: result, resolve } = Promise.withResolvers<CliResult>();
  const child = execFile(
    process.execPath,
    [cliEntry, ...args],
    { env: { PATH, HOME, ...env }, timeout: 30_000, maxBuffer: 16_777_216 },
    (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code ?? -1);
      resolve({ exitCode, stdout, stderr, json: <T>() => JSON.parse(stdout) as T });
    },
  );
  return { process: child, result };
}

export function runCli(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
  return startCli(args, env).result;
}
