// Runs the CLI as operators do: as a process, with nothing in its environment but what the test gives.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface CliResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
}

const entry = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

export function runCli(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [entry, ...args],
      { env: { PATH, HOME, ...env }, timeout: 30_000 },
      (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : Number(error.code ?? -1);
        resolve({ exitCode, stdout, stderr, json: <T>() => JSON.parse(stdout) as T });
      },
    );
  });
}
