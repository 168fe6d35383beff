// What systemd or a container runtime does for a program: whenever it ends, it is started again.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ProgramFailed } from '../stack/program.ts';

export interface Supervised {
  /** The process of now. */
  running(): ChildProcess;
  /** Starts another in place of one that has ended. @throws ProgramFailed when that one ends before it is ready */
  replace(): Promise<void>;
}

export interface Supervisor {
  /** How often it has ended so far. */
  readonly deaths: number;
  /** Whatever ends from now on stays so. Resolves when the program runs. @throws what `replace` threw */
  stop(): Promise<void>;
}

/** It gives up when so many in a row have ended before they were ready. */
const mostFailures = 5;

export function supervise({ running, replace }: Supervised): Supervisor {
  const stopping = Promise.withResolvers<void>();
  let isStopping = false;
  let deaths = 0;
  let failures = 0;
  const startAnother = async () => {
    try {
      await replace();
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof ProgramFailed) || failures === mostFailures) throw error;
    }
  };
  const watch = async () => {
    while (!isStopping || hasEnded(running())) {
      if (!hasEnded(running())) {
        await Promise.race([stopping.promise, once(running(), 'exit')]);
        continue;
      }
      deaths += 1;
      await startAnother();
    }
  };
  const watching = watch();
  // The caller of stop is notified.
  watching.catch(() => undefined);
  return {
    get deaths() {
      return deaths;
    },
    async stop() {
      isStopping = true;
      stopping.resolve();
      await watching;
    },
  };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;
