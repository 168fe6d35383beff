// A third-party server as a process of this run, which can be killed and restarted; its output goes to a file.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { pollUntil } from './poll-until.ts';

export interface ServerProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Gets what it prints, one life after the other. */
  readonly logFile: string;
  /** Variables besides PATH and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  /** User it runs as; default: this one. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  readonly isReady: () => Promise<boolean>;
}

const startDeadlineMs = 60_000;

/** Describes it; nothing runs before `start`. */
export function serverProcess(options: ServerProcessOptions) {
  const { name, command, args, logFile, env, owner = {}, isReady } = options;
  let child: ChildProcess | undefined;
  let exited: Promise<unknown> = Promise.resolve();
  const launch = () => {
    const log = openSync(logFile, 'a');
    child = spawn(command, args, {
      stdio: ['ignore', log, log],
      env: { PATH: process.env['PATH'], LC_ALL: 'C', ...env },
      ...owner,
    });
    closeSync(log);
    exited = once(child, 'exit');
  };
  const isAlive = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (!isAlive()) return;
    child?.kill(signal);
    await exited;
  };
  return {
    name,
    /** SIGKILL. */
    kill: () => end('SIGKILL'),
    // A server may refuse to start until the children of its killed predecessor have gone.
    /** Starts it again where it was; resolves when it works. */
    start: async () =>
      void (await pollUntil(
        `${name} to be ready`,
        async () => {
          if (!isAlive()) launch();
          return isReady();
        },
        { timeoutMs: startDeadlineMs, everyMs: 100 },
      ).catch((error: Error) => {
        throw new Error(`${error.message}\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
      })),
    /** Sends SIGSTOP to every process of the server, so that it accepts connections but does not respond, or SIGCONT. */
    signal(name: 'SIGSTOP' | 'SIGCONT') {
      const pid = child?.pid;
      // The parent first: it makes no further process while its children are stopped.
      if (isAlive() && pid !== undefined) for (const each of [pid, ...childrenOf(pid)]) process.kill(each, name);
    },
    /** SIGINT, and resolves when it has ended. Safe when it does not run. */
    stop: () => end('SIGINT'),
  };
}

export type ServerProcess = ReturnType<typeof serverProcess>;

/** Process ids, from /proc: PostgreSQL has a process a connection. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => parentOf(pid) === parent)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
