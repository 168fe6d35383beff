// Writes and reads the file with the addresses of a running `npm start`, in the state directory: the stack writes it,
// and the CLI reads it.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { readBootId } from './boot-id.ts';
import { readStartTime } from './process-start-time.ts';

/** A stack running on this machine. This object contains no secrets. */
export interface RunningStack {
  /** Process id of `npm start`. */
  readonly pid: number;
  /** Start time (RFC 3339). */
  readonly startedAt: string;
  /** Base URL of the router. `operations`, `engine` and `backEnds` are base URLs too. */
  readonly router: string;
  readonly operations: string;
  readonly engine: string;
  /** Issuer of the access tokens that the router accepts. Absent when a property file sets another issuer. */
  readonly identityProvider?: string;
  /** Audience (`aud`) of these access tokens. */
  readonly audience?: string;
  readonly backEnds: string;
  /** `sqlite:<file>`, the database of the embedded engine. Absent when an external engine is used. */
  readonly engineDatabase?: string;
  /** URL of the router's Redis. Absent when the router has no Redis, or the URL contains a password. */
  readonly redis?: string;
  /** Prefix of the router's records in its Redis. Absent when the router has no Redis. */
  readonly recordsKeyPrefix?: string;
}

/** The contents of the file. */
interface StackFile extends RunningStack {
  /** Id of the boot during which the stack was started; present only on Linux. */
  readonly bootId?: string | undefined;
  /** Start time of the process in clock ticks since boot; present only on Linux. */
  readonly processStartTime?: string | undefined;
}

const fileIn = (stateDir: string) => join(stateDir, 'stack.json');

/**
 * Writes the file atomically.
 * @returns a function that removes the file
 */
export function writeRunningStack(stateDir: string, stack: RunningStack): () => void {
  const file = fileIn(stateDir);
  const draft = `${file}.${stack.pid}`;
  const content: StackFile = { ...stack, bootId: readBootId(), processStartTime: readStartTime(stack.pid) };
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
  return () => rmSync(file, { force: true });
}

/**
 * Returns the stack that runs with this state directory; undefined when there is none, even if the file of a stopped
 * stack remains.
 */
export function readRunningStack(stateDir: string): RunningStack | undefined {
  try {
    const { bootId, processStartTime, ...stack } = JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as StackFile;
    const isRunning = isOfThisBoot(stack, bootId) && isAlive(stack) && hasStartedAt(stack, processStartTime);
    return isRunning ? stack : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the stack was started since the last boot. After a reboot, its pid may belong to another process. */
function isOfThisBoot({ startedAt }: RunningStack, bootId: string | undefined): boolean {
  const current = readBootId();
  if (bootId !== undefined && current !== undefined) return bootId === current;
  return Date.parse(startedAt) > Date.now() - uptime() * 1_000;
}

/**
 * Returns whether the process has this start time; true when either is unknown. After the restart of a container, the
 * pid may belong to another process, although the boot id is the same.
 */
function hasStartedAt({ pid }: RunningStack, startTime: string | undefined): boolean {
  const current = readStartTime(pid);
  return startTime === undefined || current === undefined || startTime === current;
}

function isAlive({ pid }: RunningStack): boolean {
  if (!(pid > 0)) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
