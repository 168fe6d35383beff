// Addresses of a running `npm start`: a file in its state directory, written by the stack and read by the CLI.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';

/** A stack that runs on this machine. Holds no secret: the file may be shown to anybody. */
export interface RunningStack {
  /** Process id of `npm start`. */
  readonly pid: number;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Base URLs. */
  readonly router: string;
  readonly operations: string;
  readonly engine: string;
  /** Issuer of the access tokens that its router accepts. Absent when a property file names another one. */
  readonly identityProvider?: string;
  /** `aud` of these access tokens. */
  readonly audience?: string;
  readonly backEnds: string;
  /** `sqlite:<file>`, the database of the stack's own engine. Absent when the engine was given. */
  readonly engineDatabase?: string;
}

const fileIn = (stateDir: string) => join(stateDir, 'stack.json');

/**
 * Writes the file in one step: a reader sees all of it or none.
 * @returns removes it
 */
export function writeRunningStack(stateDir: string, stack: RunningStack): () => void {
  const file = fileIn(stateDir);
  const draft = `${file}.${stack.pid}`;
  writeFileSync(draft, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
  return () => rmSync(file, { force: true });
}

/** The stack that runs with this state directory. Undefined when there is none, or when it ended without removing its file. */
export function readRunningStack(stateDir: string): RunningStack | undefined {
  try {
    const stack = JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as RunningStack;
    return isAlive(stack) ? stack : undefined;
  } catch {
    return undefined;
  }
}

/** After a reboot the process id belongs to another process. */
function isAlive({ pid, startedAt }: RunningStack): boolean {
  if (!(pid > 0) || !(Date.parse(startedAt) > Date.now() - uptime() * 1_000)) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
