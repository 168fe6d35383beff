// One life of one process: start it, learn when it works, end it, and see to it that it never outlives this process.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { setNiceness } from './niceness.ts';

/** How a process ended: exactly one of the two is set, or `error` when it never began. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}

/** What a program reports once it works. */
export type Ready = Readonly<Record<string, unknown>>;

/** A running process, or whatever else can be started and stopped like one. */
export interface Child {
  readonly pid: number | undefined;
  /** Resolves once it works; rejects when it ended before that. */
  readonly ready: Promise<Ready>;
  /** Resolves when it has ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Asks it to end, insists after `stopDeadlineMs`, and resolves when it has ended. Safe to call at any time. */
  stop(): Promise<Ending>;
  /** Ends it at once. */
  kill(): void;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Gets everything it prints, standard output and standard error as they come. Not ended here. */
  readonly output: Writable;
  /** Milliseconds between SIGTERM and SIGKILL. Default 10 000. */
  readonly stopDeadlineMs?: number;
  /** How far it stands back for other processes when the cores are busy, 0 to 19 (nice(2)). Default 0. */
  readonly niceness?: number;
  /**
   * Learns that it works. Default: it sends `{ type: 'ready', ready }` over the IPC channel, as `runProgram` does.
   * @param signal aborted when the process has ended
   */
  readonly waitUntilReady?: (signal: AbortSignal) => Promise<Ready>;
}

/** Runs a command and leaves a watcher that ends it should this process die. */
const exitWithParent = fileURLToPath(new URL('../setup/exit-with-parent.sh', import.meta.url));

/**
 * Starts a process in a process group of its own: Ctrl-C in the terminal reaches only this process, which then stops
 * its children in the order it wants.
 */
export function startChild(options: ChildOptions): Child {
  const channel = options.waitUntilReady === undefined ? 'ipc' : 'ignore';
  const child = spawn('/bin/sh', [exitWithParent, options.command, ...options.args], {
    stdio: ['ignore', 'pipe', 'pipe', channel, 'pipe'],
    env: options.env,
    cwd: options.cwd,
    detached: true,
  });
  lowerPriority(child.pid, options.niceness ?? 0);
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
    // It has ended already, which is told elsewhere; or the machine has no such thing, and it works without.
  }
}

/** One phrase for people: `exit code 1`, `SIGKILL`. */
export function describeEnding({ code, signal, error }: Ending): string {
  if (error !== undefined) return error.message;
  return signal ?? `exit code ${code}`;
}

function untilEnded(child: ChildProcess): Promise<Ending> {
  const exitWithParent = child.stdio[4] as Writable | null | undefined;
  exitWithParent?.on('error', () => {});
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      exitWithParent?.end('ended\n');
      // Its output is complete at `close`, which something it left behind could hold up for ever.
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

/** The whole group, so that nothing it started is left; it is the group's leader and we started it. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It ended in this very moment.
  }
}
