// A third-party server as a process of this run, which can be killed and restarted; its output goes to a file.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { processTree } from '../../bench/measure/process-tree.ts';
import { pollUntil } from './poll-until.ts';

export interface ServerProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File to which the output of each start is appended. */
  readonly logFile: string;
  /** Environment variables in addition to PATH and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  /** User that the server runs as; default: the current one. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Resolves with true when the server is ready; may reject while it is not. */
  readonly isReady: () => Promise<boolean>;
}

const startDeadlineMs = 60_000;

/** Creates a server process, which does not run until `start` is called. */
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
    /** Sends SIGKILL; resolves when the server has ended. */
    kill: () => end('SIGKILL'),
    // A server may refuse to start until the children of its killed predecessor have exited.
    /** Starts or restarts the server; resolves when it is ready. */
    start: async () =>
      void (await pollUntil(
        `${name} to be ready`,
        async () => {
          if (!isAlive()) launch();
          return isReady().catch(() => false);
        },
        { timeoutMs: startDeadlineMs, everyMs: 100 },
      ).catch((error: Error) => {
        throw new Error(`${error.message}\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
      })),
    /**
     * Sends a signal to every process of the server. After SIGSTOP, the server accepts connections without responding.
     */
    signal(name: 'SIGSTOP' | 'SIGCONT') {
      const pid = child?.pid;
      // The tree lists the parent first, so the parent starts no further process while its children are being stopped.
      if (isAlive() && pid !== undefined) for (const each of processTree([pid])) process.kill(each, name);
    },
    /** Sends SIGINT; resolves when the server has ended. Safe when it is not running. */
    stop: () => end('SIGINT'),
  };
}

export type ServerProcess = ReturnType<typeof serverProcess>;
