// Starts a child process, reports when it is ready, stops it, and ensures that it does not outlive this process.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { watchChild } from '../setup/watch-child.mjs';
import { setNiceness } from './niceness.ts';

/** How a process ended: either `code` or `signal` is set, or `error` when it could not be started. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

/** Values that a program reports when it is ready. */
export type Ready = Readonly<Record<string, unknown>>;

/** A running process, or a container that is started and stopped like one. */
export interface Child {
  readonly pid: number | undefined;
  /** Resolves when the process is ready; rejects when it ends before that. */
  readonly ready: Promise<Ready>;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /**
   * Sends SIGTERM, then SIGKILL after `stopDeadlineMs`; resolves when the process has ended. Safe to call repeatedly.
   */
  stop(): Promise<Ending>;
  /** Kills the process immediately. */
  kill(): void;
}

/** How to start a process. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Receives standard output and standard error. The caller ends the stream. */
  readonly output: Writable;
  /** Time between SIGTERM and SIGKILL, in milliseconds. Default 10 000. */
  readonly stopDeadlineMs?: number;
  /** Niceness of the process, 0 to 19 (nice(2)). Default 0. */
  readonly niceness?: number;
  /**
   * Resolves when the process is ready. Default: waits for the message `{ type: 'ready', ready }` of `runProgram` on
   * the IPC channel.
   * @param signal aborted when the process has ended
   */
  readonly waitUntilReady?: (signal: AbortSignal) => Promise<Ready>;
}

/**
 * Starts a process in its own process group. Ctrl-C in the terminal then reaches only the calling process, which stops
 * its children in order.
 */
export function startChild(options: ChildOptions): Child {
  const channel = options.waitUntilReady === undefined ? 'ipc' : 'ignore';
  const child = spawn(options.command, options.args, {
    stdio: ['ignore', 'pipe', 'pipe', channel],
    env: options.env,
    cwd: options.cwd,
    detached: true,
  });
  lowerPriority(child.pid, options.niceness ?? 0);
  watchChild(child);
  child.stdout?.pipe(options.output, { end: false });
  child.stderr?.pipe(options.output, { end: false });
  const ended = untilEnded(child);
  const gone = new AbortController();
  const wait = options.waitUntilReady ?? ((signal: AbortSignal) => readyMessage(child, signal));
  const ready = Promise.race([
    wait(gone.signal),
    ended.then((ending): never => {
      throw new Error(`ended before it was ready: ${describeEnding(ending)}`);
    }),
  ]);
  ready.catch(() => {});
  void ended.then(() => gone.abort());
  return {
    pid: child.pid,
    ready,
    ended,
    stop: () => stopChild(child, ended, options.stopDeadlineMs ?? 10_000),
    kill: () => killGroup(child),
  };
}

function lowerPriority(pid: number | undefined, niceness: number): void {
  if (pid === undefined || niceness === 0) return;
  try {
    setNiceness(pid, niceness);
  } catch {
    // Either the process has already ended, which `ended` reports, or the system does not allow setting the niceness.
    // The niceness is optional.
  }
}

/** Returns how a process ended as text: `exit code 1`, `SIGKILL`. */
export function describeEnding({ code, signal, error }: Ending): string {
  if (error !== undefined) return error.message;
  return signal ?? `exit code ${code}`;
}

function untilEnded(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      // The output is complete at `close`. A surviving grandchild could delay this event for ever, hence the timer.
      setTimeout(resolve, 1_000, { code, signal }).unref();
    });
    child.on('close', (code, signal) => resolve({ code, signal }));
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
  });
}

function readyMessage(child: ChildProcess, signal: AbortSignal): Promise<Ready> {
  return new Promise((resolve) => {
    const listen = (message: unknown) => {
      const { type, ready } = (message ?? {}) as { type?: unknown; ready?: Ready };
      if (type === 'ready') resolve(ready ?? {});
    };
    child.on('message', listen);
    signal.addEventListener('abort', () => child.off('message', listen), { once: true });
  });
}

async function stopChild(child: ChildProcess, ended: Promise<Ending>, deadlineMs: number): Promise<Ending> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => killGroup(child), deadlineMs);
  const ending = await ended;
  clearTimeout(timer);
  return ending;
}

/** Kills the whole process group, including everything that the child has started. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process has ended in the meantime.
  }
}
