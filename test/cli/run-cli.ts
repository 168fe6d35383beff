// Runs the CLI in this process or in a child process, with the environment variables that the test sets.

import { type ChildProcess, execFile } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Host } from '../../cli/host.ts';
import { run } from '../../cli/run.ts';
import { compileCache } from '../stack/compile-cache.ts';

export interface CliResult {
  /** -1 when a signal ended the command. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Parses stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
}

/** A command that may still be running. */
export interface StartedCli {
  readonly process: ChildProcess;
  readonly result: Promise<CliResult>;
}

export const cliEntry = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

/** Starts the CLI as a process, for tests of signals and exit codes. Takes about a second of CPU time. */
export function startCli(args: readonly string[], env: Record<string, string> = {}): StartedCli {
  const { promise: result, resolve } = Promise.withResolvers<CliResult>();
  const child = execFile(
    process.execPath,
    [cliEntry, ...args],
    { env: { ...compileCache, ...withBasics(env) }, timeout: 120_000, maxBuffer: 16_777_216 },
    (error, stdout, stderr) => {
      resolve(toResult(error === null ? 0 : Number(error.code ?? -1), stdout, stderr));
    },
  );
  return { process: child, result };
}

/**
 * Runs the CLI in this process with streams of its own. `test/cli/process.test.ts` covers `cli/main.ts`.
 * @param terminal `answer` is typed on a terminal; without it, standard input is not a terminal
 */
export async function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  { answer }: { answer?: string } = {},
): Promise<CliResult> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const signals = new EventEmitter();
  const host: Host = {
    env: withBasics(env),
    stdin: answer === undefined ? Readable.from([]) : Object.assign(Readable.from([`${answer}\n`]), { isTTY: true }),
    stdout,
    stderr,
    on: (...listener) => signals.on(...listener),
    off: (...listener) => signals.off(...listener),
    exit: (code) => {
      throw new Error(`unexpected exit with code ${code}`);
    },
  };
  const written = Promise.all([text(stdout), text(stderr)]);
  const exitCode = await run(args, host).finally(() => {
    stdout.end();
    stderr.end();
  });
  return toResult(exitCode, ...(await written));
}

function withBasics(env: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  // Keeps tests from using a stack that runs in this checkout.
  return { PATH, HOME, STATE_DIR: '/nonexistent', ...env };
}

function toResult(exitCode: number, stdout: string, stderr: string): CliResult {
  return { exitCode, stdout, stderr, json: <T>() => JSON.parse(stdout) as T };
}
